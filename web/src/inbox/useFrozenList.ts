import { useMemo, useState } from 'react';
import { keep, type Kept, type Row } from './rows';

export interface FrozenList extends Kept {
  /** Adds new rows and removes finished ones. */
  readonly show: () => void;
}

interface Held {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly wasFilling: boolean;
}

/** Keeps visible rows stable while the underlying list changes. The first rows, and pages that are
 *  still loading, are added without asking. */
export function useFrozenList(
  latest: readonly Row[],
  isFilling: boolean,
  name: string,
): FrozenList {
  const now: Held = { name, rows: latest, wasFilling: isFilling };
  const [held, setHeld] = useState(now);
  const isOther = held.name !== name;
  const isFree = isOther || held.rows.length === 0 || held.wasFilling;
  if (isFree && (isOther || held.rows !== latest || held.wasFilling !== isFilling)) setHeld(now);
  const kept = useMemo(() => keep(held.rows, latest), [held.rows, latest]);
  return { ...kept, show: () => setHeld(now) };
}
