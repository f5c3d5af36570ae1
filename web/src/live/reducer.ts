// What the page knows about its connection, and what follows from each thing it hears. Pure: the
// socket, the timers and the cache are elsewhere.
import type { Schemas } from '@/api/client';

export type Event = Schemas['Event'];
export type Frame = Schemas['Frame'];

/** Why the socket is closed, if it is. `refused` needs a person to sign in, not a retry. */
export type Link = 'opening' | 'open' | 'broken' | 'refused';

export interface Live {
  readonly link: Link;
  /** Everything up to this number has been told. */
  readonly seq: number | undefined;
  /** Attempts in a row that ended before anything was heard. */
  readonly failures: number;
  readonly brokenSince: number | undefined;
  readonly isOnline: boolean;
  /** Whether the last look without the socket was answered; unknown before the first. */
  readonly poll: 'none' | 'answered' | 'failed';
  /** When something was heard last, by socket or by a look. */
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

/** Closes that another attempt cannot mend: the token is void, or the account may not read. */
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
  // `ready` tells where the socket begins. Beyond what was known, something was missed.
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

/** The one way in which the connection changes. */
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

/** A socket that stays away so long is not waited for any more. */
export const POLL_AFTER_MS = 15_000;
export const POLL_AFTER_FAILURES = 3;
/** The events of the server are this late before it is worth a word. */
export const BEHIND_MS = 5_000;

/** What the pill says. Looks dead if it is dead; nothing here is guessed. */
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

/** Half a second, doubled up to half a minute, and never all pages at the same moment. */
export function retryIn(failures: number, random: number): number {
  const full = Math.min(30_000, 500 * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (0.5 + random / 2));
}

/** How long until the next look: five seconds, more after failures, a minute if nobody looks. */
export function pollIn(failedPolls: number, isHidden: boolean, random: number): number {
  if (isHidden) return 60_000;
  const full = Math.min(30_000, 5_000 * 2 ** failedPolls);
  return Math.round(full * (0.8 + random * 0.2));
}
