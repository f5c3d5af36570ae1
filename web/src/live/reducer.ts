// State of the live connection and the effects of each input. Pure: socket, timers and cache are
// elsewhere.
import type { Schemas } from '@/api/client';

export type Event = Schemas['Event'];
export type Frame = Schemas['Frame'];

/** State of the socket. After `refused` the user must sign in; a retry would fail. */
export type Link = 'opening' | 'open' | 'broken' | 'refused';

export interface Live {
  readonly link: Link;
  /** Number of the last processed event. */
  readonly seq: number | undefined;
  /** Consecutive attempts that failed before any message arrived. */
  readonly failures: number;
  readonly brokenSince: number | undefined;
  readonly isOnline: boolean;
  /** Result of the last poll; `none` before the first. */
  readonly poll: 'none' | 'answered' | 'failed';
  /** Time of the last message or successful poll. */
  readonly heardAt: number | undefined;
  readonly lagMs: number;
}

export type Input =
  | { readonly kind: 'opening' }
  | { readonly kind: 'frame'; readonly frame: Frame; readonly now: number }
  | { readonly kind: 'event'; readonly event: Event; readonly now: number }
  | { readonly kind: 'closed'; readonly code: number; readonly now: number }
  | { readonly kind: 'polled'; readonly ok: boolean; readonly lagMs: number; readonly now: number }
  | { readonly kind: 'network'; readonly isOnline: boolean; readonly now: number };

export type Effect = { readonly do: 'refetch' } | { readonly do: 'touch'; readonly event: Event };

export const FIRST: Live = {
  link: 'opening',
  seq: undefined,
  failures: 0,
  brokenSince: undefined,
  isOnline: true,
  poll: 'none',
  heardAt: undefined,
  lagMs: 0,
};

/** Close codes that a retry cannot fix: the session is invalid, or the account has no access. */
const REFUSALS = [4401, 4403];

type Step = { live: Live; effects: Effect[] };

const only = (live: Live): Step => ({ live, effects: [] });

function heard(live: Live, seq: number, now: number): Live {
  return {
    ...live,
    link: 'open',
    seq,
    failures: 0,
    brokenSince: undefined,
    poll: 'none',
    heardAt: now,
  };
}

function onFrame(live: Live, frame: Frame, now: number): Step {
  const next = heard(live, frame.seq, now);
  if (frame.frame === 'reset') return { live: next, effects: [{ do: 'refetch' }] };
  // `ready` names the first number of the socket. A gap to the last known one means missed events.
  const isMissed = frame.frame === 'ready' && live.seq !== undefined && frame.seq > live.seq;
  const isFirst = frame.frame === 'ready' && live.seq === undefined;
  if (isMissed || isFirst) return { live: next, effects: [{ do: 'refetch' }] };
  return only({ ...next, seq: Math.max(frame.seq, live.seq ?? 0) });
}

function onEvent(live: Live, event: Event, now: number): Step {
  const known = live.seq;
  if (known !== undefined && event.seq <= known) return only({ ...live, heardAt: now });
  const next = heard(live, event.seq, now);
  const isGap = known !== undefined && event.seq > known + 1;
  return { live: next, effects: isGap ? [{ do: 'refetch' }] : [{ do: 'touch', event }] };
}

function onClosed(live: Live, code: number, now: number): Step {
  const link: Link = REFUSALS.includes(code) ? 'refused' : 'broken';
  const brokenSince = live.brokenSince ?? now;
  return only({ ...live, link, failures: live.failures + 1, brokenSince });
}

/** The only function that changes the connection state. */
export function step(live: Live, input: Input): Step {
  switch (input.kind) {
    case 'opening':
      return only({ ...live, link: 'opening' });
    case 'frame':
      return onFrame(live, input.frame, input.now);
    case 'event':
      return onEvent(live, input.event, input.now);
    case 'closed':
      return onClosed(live, input.code, input.now);
    case 'polled': {
      const poll = input.ok ? 'answered' : 'failed';
      const heardAt = input.ok ? input.now : live.heardAt;
      return only({ ...live, poll, heardAt, lagMs: input.ok ? input.lagMs : live.lagMs });
    }
    case 'network':
      return only({ ...live, isOnline: input.isOnline });
  }
}

export type Pill = 'live' | 'reconnecting' | 'polling' | 'behind' | 'offline' | 'paused';

/** After this time without a socket, the page polls. */
export const POLL_AFTER_MS = 15_000;
export const POLL_AFTER_FAILURES = 3;
/** Event lag above which the status shows it. */
export const BEHIND_MS = 5_000;

/** Derives the displayed connection status from the state. */
export function pill(live: Live, now: number, isHeld: boolean): Pill {
  if (!live.isOnline) return 'offline';
  if (live.link !== 'open' && live.poll === 'failed') return 'offline';
  if (live.link === 'open') {
    if (isHeld) return 'paused';
    return live.lagMs >= BEHIND_MS ? 'behind' : 'live';
  }
  return isPolling(live, now) ? 'polling' : 'reconnecting';
}

export function isPolling(live: Live, now: number): boolean {
  if (live.link === 'open' || live.brokenSince === undefined) return false;
  return live.failures >= POLL_AFTER_FAILURES || now - live.brokenSince >= POLL_AFTER_MS;
}

/** Retry delay: half a second, doubled up to half a minute, with jitter. */
export function retryIn(failures: number, random: number): number {
  const full = Math.min(30_000, 500 * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (0.5 + random / 2));
}

/** Poll interval: five seconds, longer after failures, a minute while the tab is hidden. */
export function pollIn(failedPolls: number, isHidden: boolean, random: number): number {
  if (isHidden) return 60_000;
  const full = Math.min(30_000, 5_000 * 2 ** failedPolls);
  return Math.round(full * (0.8 + random * 0.2));
}
