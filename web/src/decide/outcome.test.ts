import { describe, expect, it } from 'vitest';
import type { Schemas } from '@/api/client';
import { Refused, Unclear } from '@/api/problem';
import type { Vote } from '@/api/queries';
import { type Input, type Intent, lookIn, next, NONE, type Outcome } from './outcome';

const intent: Intent = {
  task: 'task_1',
  number: 1,
  answer: 'approve',
  revision: 2,
  digest: 'sha256:a',
  reason: undefined,
  key: 'k1',
};
const voted = (counted = true) =>
  ({ answer: 'approve', counted, state: 'APPROVED', receipt: 'leaf_1' }) as Schemas['Voted'];
const vote = (more: Partial<Vote> = {}): Vote => ({
  voter_id: 'usr_me',
  answer: 'approve',
  revision: 2,
  digest: 'sha256:a',
  at: '',
  counted: true,
  withdrawn: false,
  ...more,
});
const refusal = (code: string, status = 409) =>
  new Refused({
    code,
    title: '',
    status,
    detail: '',
    retriable: false,
    request_id: '',
    next_action: { message: '' },
  });
const run = (...inputs: Input[]): Outcome => inputs.reduce(next, NONE);
const send: Input = { kind: 'send', intent };

describe('a decision', () => {
  it('is recorded only with a receipt', () => {
    expect(run(send).kind).toBe('recording');
    expect(run(send, { kind: 'answered', voted: voted() })).toMatchObject({
      kind: 'recorded',
      receipt: 'leaf_1',
    });
  });

  it('is sent once for repeated presses', () => {
    const other = { ...intent, key: 'k2' };
    expect(run(send, { kind: 'send', intent: other })).toEqual({ kind: 'recording', intent });
  });

  it('reports a vote that did not count', () => {
    expect(run(send, { kind: 'answered', voted: voted(false) })).toMatchObject({
      isCounted: false,
    });
  });

  it('distinguishes stale from refused', () => {
    expect(run(send, { kind: 'failed', error: refusal('stale_revision') }).kind).toBe('stale');
    expect(run(send, { kind: 'failed', error: refusal('not_asked', 403) }).kind).toBe('refused');
  });

  it.each([
    new Unclear('cut'),
    refusal('outcome_unknown', 500),
    refusal('timed_out', 503),
    new TypeError('x'),
  ])('without response (%s) is neither recorded nor refused', (error) =>
    expect(run(send, { kind: 'failed', error }).kind).toBe('unclear'),
  );

  it('resolves an unknown outcome from the server', () => {
    const cut: Input = { kind: 'failed', error: new Unclear('cut') };
    const look = (votes: Vote[]): Input => ({ kind: 'looked', votes, me: 'usr_me' });
    expect(run(send, cut, look([vote()])).kind).toBe('recorded');
    expect(run(send, cut, look([])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ voter_id: 'usr_other' })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ revision: 1 })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ answer: 'reject' })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ withdrawn: true })])).kind).toBe('absent');
  });

  it('stays unknown while the server does not respond', () => {
    const cut: Input = { kind: 'failed', error: new Unclear('cut') };
    const waiting = run(
      send,
      cut,
      { kind: 'unanswered' },
      { kind: 'unanswered' },
      { kind: 'leave' },
    );
    expect(waiting).toMatchObject({ kind: 'unclear', looks: 2 });
  });

  it('polls at growing intervals', () => {
    expect([0, 1, 2, 3, 4, 5, 50].map(lookIn)).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });
});
