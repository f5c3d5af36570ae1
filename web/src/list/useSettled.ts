import { useEffect, useState } from 'react';

const SETTLE_MS = 120;

/** Whether the key has stayed the same for a moment. Rows that only scroll past, or that the cursor
 *  only passes, do not load their details. */
export function useSettled(key: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled === key;
}
