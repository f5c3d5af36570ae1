import { useMemo, useState } from 'react';
import { keep, type Kept, type Row } from './rows';

export interface KeptList extends Kept {
  /** Takes in what is new and lets go of what is over. */
  readonly show: () => void;
  /** Lets go of one row: the reader has dealt with it. */
  readonly drop: (key: string) => void;
}

interface Held {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly wasFilling: boolean;
}

/** Holds what is on screen still while the list behind it moves. The first rows, and pages that
 *  are still being read, come without asking. */
export function useKept(latest: readonly Row[], isFilling: boolean, name: string): KeptList {
  const now: Held = { name, rows: latest, wasFilling: isFilling };
  const [held, setHeld] = useState(now);
  const isOther = held.name !== name;
  const isFree = isOther || held.rows.length === 0 || held.wasFilling;
  if (isFree && (isOther || held.rows !== latest || held.wasFilling !== isFilling)) setHeld(now);
  const kept = useMemo(() => keep(held.rows, latest), [held.rows, latest]);
  return {
    ...kept,
    show: () => setHeld(now),
    drop: (key) =>
      setHeld((before) => ({ ...before, rows: before.rows.filter((row) => row.key !== key) })),
  };
}
