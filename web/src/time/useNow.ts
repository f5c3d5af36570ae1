import { useSyncExternalStore } from 'react';
import { serverNow } from './clock';

export interface Now {
  /** Time of the local clock. */
  readonly here: number;
  /** Time of the server's clock. */
  readonly there: number;
}

interface Ticker {
  readonly now: () => Now;
  readonly subscribe: (listener: () => void) => () => void;
}

const tickers = new Map<number, Ticker>();

const read = (): Now => ({ here: Date.now(), there: serverNow() });

function ticker(every: number): Ticker {
  let now = read();
  let timer: ReturnType<typeof setInterval> | undefined;
  const listeners = new Set<() => void>();
  const tick = () => {
    now = read();
    for (const listener of listeners) listener();
  };
  return {
    now: () => now,
    subscribe: (listener) => {
      // There was no listener for a while, so the stored time is stale.
      if (timer === undefined && Date.now() - now.here >= every) now = read();
      listeners.add(listener);
      timer ??= setInterval(tick, every);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

/** Returns the current time, updated at an interval; equal intervals share one timer. */
export function useNow(every: number): Now {
  let found = tickers.get(every);
  if (!found) {
    found = ticker(every);
    tickers.set(every, found);
  }
  return useSyncExternalStore(found.subscribe, found.now);
}
