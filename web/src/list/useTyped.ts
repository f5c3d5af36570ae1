import { useEffect, useState } from 'react';

/** Long enough not to rewrite the address at every letter. */
const SETTLE_MS = 150;

/** What is being typed, told on once the hands rest; a new value from outside replaces it. */
export function useTyped(
  value: string,
  onChange: (value: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return [text, setText];
}
