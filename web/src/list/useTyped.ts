import { useEffect, useState } from 'react';

/** Long enough not to rewrite the address at every letter. */
const SETTLE_MS = 150;

/** What is being typed, told on once the hands rest; a new value from outside replaces it. What was
 *  told comes back as the value while somebody types on: that replaces nothing. */
export function useTyped(
  value: string,
  onChange: (value: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const [told, setTold] = useState<readonly string[]>([]);
  if (known !== value) {
    setKnown(value);
    const own = told.indexOf(value);
    setTold(own < 0 ? [] : told.slice(own + 1));
    if (own < 0) setText(value);
  }
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      setTold((before) => [...before, text]);
      onChange(text);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return [text, setText];
}
