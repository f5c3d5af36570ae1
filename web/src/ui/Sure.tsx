import { useEffect, useState } from 'react';
import { Button, type ButtonProps } from './Button';

const FORGET_MS = 4_000;

interface Props extends Omit<ButtonProps, 'onClick' | 'children'> {
  word: string;
  /** Label of the second press, which confirms. */
  again: string;
  onSure: () => void;
}

/** Button for irreversible actions: the first press asks for confirmation, the second acts. */
export function Sure({ word, again, onSure, ...more }: Props) {
  const [isAsked, setAsked] = useState(false);
  useEffect(() => {
    if (!isAsked) return undefined;
    const timer = setTimeout(() => setAsked(false), FORGET_MS);
    return () => clearTimeout(timer);
  }, [isAsked]);
  const press = () => {
    if (isAsked) onSure();
    setAsked(!isAsked);
  };
  return (
    <Button size="small" {...more} tone={isAsked ? 'danger' : 'quiet'} onClick={press}>
      {isAsked ? again : word}
    </Button>
  );
}
