import { useEffect, useState } from 'react';

/** Debounce delay, so that the address does not change on every key press. */
const SETTLE_MS = 150;

/** Debounced input state. A new value from outside replaces the typed text; a value that this hook
 *  reported itself, and that comes back while the user types on, does not. */
export function useTyped(
  value: string,
  onChange: (value: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const [sent, setSent] = useState<readonly string[]>([]);
  if (known !== value) {
    setKnown(value);
    const own = sent.indexOf(value);
    setSent(own < 0 ? [] : sent.slice(own + 1));
    if (own < 0) setText(value);
  }
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      setSent((before) => [...before, text]);
      onChange(text);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return [text, setText];
}
