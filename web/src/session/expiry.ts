// Tracks whether the session has expired. The API client reports it; the page keeps its state and
// asks for a new sign-in.
import { useSyncExternalStore } from 'react';

let isOver = false;
const listeners = new Set<() => void>();

export function noteSignedOut(isOut: boolean): void {
  if (isOver === isOut) return;
  isOver = isOut;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useIsSignedOut(): boolean {
  return useSyncExternalStore(subscribe, () => isOver);
}

/** Notifies other tabs of a new sign-in. */
const CHANNEL = 'ade.session';

export function tellSignedIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage('signed-in');
  channel.close();
}

export function onSignedIn(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = listener;
  return () => channel.close();
}

/** Time before expiry at which the page shows a warning. */
const NOTICE_MS = 5 * 60_000;

/** Milliseconds until the session expires, or undefined if that is not soon. */
export function endsSoon(expiresAt: string, now: number): number | undefined {
  const left = Date.parse(expiresAt) - now;
  return left > 0 && left <= NOTICE_MS ? left : undefined;
}
