// Queue of actions that wait for a passkey confirmation. The API client adds to it; a dialog
// answers one at a time, in order.
import { useSyncExternalStore } from 'react';
import type { Schemas } from '@/api/client';

export type Subject = Schemas['StepUpSubject'];

export interface Question {
  readonly subject: Subject;
  /** Resolves the request: whether the passkey confirmed it. */
  readonly end: (isGiven: boolean) => void;
}

let waiting: readonly Question[] = [];
const listeners = new Set<() => void>();

function set(next: readonly Question[]): void {
  waiting = next;
  for (const listener of listeners) listener();
}

/** Without a page that can show the dialog, the action is not confirmed. */
export function confirmed(subject: Subject): Promise<boolean> {
  if (listeners.size === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    const question: Question = {
      subject,
      end: (isGiven) => {
        set(waiting.filter((one) => one !== question));
        resolve(isGiven);
      },
    };
    set([...waiting, question]);
  });
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const first = (): Question | undefined => waiting[0];

export function useQuestion(): Question | undefined {
  return useSyncExternalStore(subscribe, first);
}
