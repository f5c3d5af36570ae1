import { useEffect } from 'react';

export function useTitle(words: string): void {
  useEffect(() => {
    document.title = `${words} · ADE`;
  }, [words]);
}
