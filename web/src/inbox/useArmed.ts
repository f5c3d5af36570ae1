// Approving from the list takes two presses on the same revision of the same task, and only after
// its preview has been on screen for a while. Riskier tasks are approved on their review page.
import { useCallback, useEffect, useState } from 'react';
import type { Level, Task } from '@/api/queries';

/** How long a preview has to be shown before it can be approved. */
export const SHOWN_MS = 800;
/** The time within which the second press must follow the first. */
export const ARMED_MS = 5_000;

export function isWeighty(level: Level): boolean {
  return level === 'high' || level === 'critical';
}

/** Why a task cannot be approved from the list, if so. */
export function reviewFirst(task: Pick<Task, 'risk' | 'effect'>): string | undefined {
  if (task.effect.counts.irreversible > 0)
    return 'This cannot be undone. Approve it on its review page.';
  if (task.risk.level === 'critical')
    return 'The risk is critical. Approve this task on its review page.';
  if (task.risk.level === 'high') return 'The risk is high. Approve this task on its review page.';
  return undefined;
}

export interface Armed {
  /** `armed`: the next press approves. `early`: the press came before the preview could be read. */
  readonly state: 'idle' | 'early' | 'armed';
  readonly press: () => void;
  readonly disarm: () => void;
}

type Shown = Pick<Task, 'id' | 'revision' | 'digest'>;

/** `shown` is the task whose preview is on screen; nothing of one task carries over to another. */
export function useArmed(shown: Shown | undefined, onApprove: () => void): Armed {
  const key = shown && `${shown.id} ${shown.revision} ${shown.digest}`;
  const [seen, setSeen] = useState<string>();
  const [armed, setArmed] = useState<string>();
  const [early, setEarly] = useState<string>();
  useEffect(() => {
    if (!key) return undefined;
    const timer = setTimeout(() => setSeen(key), SHOWN_MS);
    return () => {
      clearTimeout(timer);
      setSeen(undefined);
      setArmed(undefined);
      setEarly(undefined);
    };
  }, [key]);
  useEffect(() => {
    if (!armed) return undefined;
    const timer = setTimeout(() => setArmed(undefined), ARMED_MS);
    return () => clearTimeout(timer);
  }, [armed]);
  const disarm = useCallback(() => setArmed(undefined), []);
  const press = () => {
    if (!key) return;
    if (seen !== key) {
      setEarly(key);
    } else if (armed === key) {
      setArmed(undefined);
      onApprove();
    } else {
      setEarly(undefined);
      setArmed(key);
    }
  };
  const is = (one: string | undefined) => one !== undefined && one === key;
  return { state: is(armed) ? 'armed' : is(early) ? 'early' : 'idle', press, disarm };
}
