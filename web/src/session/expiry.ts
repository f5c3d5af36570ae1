// Whether the server has stopped knowing who is here. Told by the one door to it, heard by the
// page, which stays as it is and asks for a new sign-in.
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

/** Other tabs hear of a new sign-in through this. */
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

/** So long before its end a session is worth a word. */
const NOTICE_MS = 5 * 60_000;

/** Milliseconds until a session ends, once that is soon. */
export function endsSoon(expiresAt: string, now: number): number | undefined {
  const left = Date.parse(expiresAt) - now;
  return left > 0 && left <= NOTICE_MS ? left : undefined;
}
