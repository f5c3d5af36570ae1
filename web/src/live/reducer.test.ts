import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Effect,
  type Event,
  FIRST,
  type Input,
  type Live,
  pill,
  pollIn,
  retryIn,
  step,
} from './reducer';

const event = (seq: number): Event => ({
  id: `evt_${seq}`,
  seq,
  type: 'task.approved',
  tenant_id: 'ten_1',
  object: `task_${seq}`,
  at: '2026-01-01T00:00:00Z',
  data: {},
});
const received = (seq: number): Input => ({ kind: 'event', event: event(seq), now: 1 });
const frame = (name: 'ready' | 'skip' | 'reset', seq: number): Input => ({
  kind: 'frame',
  frame: { frame: name, seq },
  now: 1,
});

function run(inputs: Input[], from: Live = FIRST): { live: Live; effects: Effect[] } {
  let live = from;
  const effects: Effect[] = [];
  for (const input of inputs) {
    const next = step(live, input);
    live = next.live;
    effects.push(...next.effects);
  }
  return { live, effects };
}
const numbers = (effects: Effect[]) =>
  effects.map((effect) => (effect.do === 'touch' ? effect.event.seq : 'all'));

describe('numbers', () => {
  it('processes each event once, in order', () => {
    const { effects } = run([
      frame('ready', 4),
      received(5),
      received(6),
      received(6),
      received(5),
      received(7),
    ]);
    expect(numbers(effects)).toEqual(['all', 5, 6, 7]);
  });

  it('reloads everything after a gap and after a reset', () => {
    const { live, effects } = run([
      frame('ready', 4),
      received(7),
      frame('reset', 90),
      received(91),
    ]);
    expect(numbers(effects)).toEqual(['all', 'all', 'all', 91]);
    expect(live.seq).toBe(91);
  });

  it('advances past skipped events', () => {
    const { effects } = run([frame('ready', 4), frame('skip', 9), received(10)]);
    expect(numbers(effects)).toEqual(['all', 10]);
  });

  it('resumes without reload if no event was missed', () => {
    const { effects } = run([
      frame('ready', 4),
      received(5),
      { kind: 'closed', code: 1006, now: 2 },
      frame('ready', 5),
      received(6),
    ]);
    expect(numbers(effects)).toEqual(['all', 5, 6]);
  });

  it('loses and repeats no event over any disconnects', () => {
    const cut = fc.record({ at: fc.nat(60), back: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(cut, { maxLength: 8 }), (cuts) => {
        const inputs: Input[] = [frame('ready', 0)];
        for (let seq = 1; seq <= 60; seq++) {
          inputs.push(received(seq));
          for (const { back } of cuts.filter(({ at }) => at === seq)) {
            // The server repeats events that may not have arrived.
            inputs.push(
              { kind: 'closed', code: 1006, now: seq },
              frame('ready', Math.max(0, seq - back)),
            );
            for (let again = Math.max(1, seq - back); again <= seq; again++)
              inputs.push(received(again));
          }
        }
        const touched = numbers(run(inputs).effects).filter((one) => one !== 'all');
        expect(touched).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
      }),
    );
  });
});

describe('connection status', () => {
  const open = run([frame('ready', 1)]).live;
  const closed = (times: number, from = open): Live =>
    run(
      Array.from({ length: times }, () => ({ kind: 'closed', code: 1006, now: 1000 }) as const),
      from,
    ).live;

  it('is live only while the socket is open', () => {
    expect(pill(open, 1, false)).toBe('live');
    expect(pill(FIRST, 1, false)).toBe('reconnecting');
    expect(pill(closed(1), 1001, false)).toBe('reconnecting');
  });

  it('polls after three failures or fifteen seconds', () => {
    expect(pill(closed(3), 1001, false)).toBe('polling');
    expect(pill(closed(1), 16_000, false)).toBe('polling');
  });

  it('is offline when polling fails or there is no network', () => {
    const failed = run([{ kind: 'polled', ok: false, lagMs: 0, now: 2 }], closed(1)).live;
    expect(pill(failed, 1001, false)).toBe('offline');
    const cut = run([{ kind: 'network', isOnline: false, now: 2 }], open).live;
    expect(pill(cut, 1, false)).toBe('offline');
  });

  it('shows event lag and paused lists', () => {
    const late = run([{ kind: 'polled', ok: true, lagMs: 42_000, now: 2 }], open).live;
    expect(pill(late, 1, false)).toBe('behind');
    expect(pill(open, 1, true)).toBe('paused');
  });

  it('shows offline even while lists are paused', () => {
    expect(pill(closed(3), 1001, true)).toBe('polling');
  });

  it('stops retrying after the server refused the socket', () => {
    const { live } = run([{ kind: 'closed', code: 4401, now: 2 }], open);
    expect(live.link).toBe('refused');
  });
});

describe('waiting', () => {
  it('stays within its bounds', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
        expect(retryIn(tries, random)).toBeGreaterThanOrEqual(250);
        expect(retryIn(tries, random)).toBeLessThanOrEqual(30_000);
        expect(pollIn(tries, false, random)).toBeGreaterThanOrEqual(4_000);
        expect(pollIn(tries, false, random)).toBeLessThanOrEqual(30_000);
        expect(pollIn(tries, true, random)).toBe(60_000);
      }),
    );
  });
});
