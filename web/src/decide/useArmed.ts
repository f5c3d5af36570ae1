// Approving by key takes two presses on the same revision of the same task, so that a key meant for
// something else approves nothing. In a list, riskier tasks are approved on their review page.
import { useCallback, useEffect, useState } from 'react';
import type { Level, Task } from '@/api/queries';

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
  /** Whether the next press approves. */
  readonly isArmed: boolean;
  readonly press: () => void;
  readonly disarm: () => void;
}

type Shown = Pick<Task, 'id' | 'revision' | 'digest'>;

/** `shown` is the task that may be approved, because it was read; nothing of one task carries over
 *  to another. */
export function useArmed(shown: Shown | undefined, onApprove: () => void): Armed {
  const key = shown && `${shown.id} ${shown.revision} ${shown.digest}`;
  const [armed, setArmed] = useState<string>();
  useEffect(() => () => setArmed(undefined), [key]);
  useEffect(() => {
    if (!armed) return undefined;
    const timer = setTimeout(() => setArmed(undefined), ARMED_MS);
    return () => clearTimeout(timer);
  }, [armed]);
  const disarm = useCallback(() => setArmed(undefined), []);
  const isArmed = armed !== undefined && armed === key;
  const press = () => {
    if (!key) return;
    setArmed(isArmed ? undefined : key);
    if (isArmed) onApprove();
  };
  return { isArmed, press, disarm };
}
