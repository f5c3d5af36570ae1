// Decisions that wait for the reader's passkey. The one door to the server asks here; a dialog of
// the page answers. One at a time, in the order they came.
import { useSyncExternalStore } from 'react';
import type { Schemas } from '@/api/client';

export type Subject = Schemas['StepUpSubject'];

export interface Question {
  readonly subject: Subject;
  /** Whether the passkey has given its word. */
  readonly end: (isGiven: boolean) => void;
}

let waiting: readonly Question[] = [];
const listeners = new Set<() => void>();

function set(next: readonly Question[]): void {
  waiting = next;
  for (const listener of listeners) listener();
}

/** Where no page could show the question, nobody confirms. */
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
