import { describe, expect, it } from 'vitest';
import type { Schemas } from '@/api/client';
import { Refused, Unclear } from '@/api/problem';
import type { Vote } from '@/api/queries';
import { type Input, type Intent, lookIn, next, NONE, type Outcome } from './outcome';

const intent: Intent = {
  approval: 'apr_1',
  task: 'task_1',
  number: 1,
  answer: 'approve',
  revision: 2,
  digest: 'sha256:a',
  reason: undefined,
  key: 'k1',
};
const voted = (effectual = true) =>
  ({ answer: 'approve', effectual, state: 'APPROVED', receipt: 'leaf_1' }) as Schemas['Voted'];
const vote = (more: Partial<Vote> = {}): Vote => ({
  voter: 'usr_me',
  answer: 'approve',
  revision: 2,
  digest: 'sha256:a',
  at: '',
  effectual: true,
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
    next_action: { says: '' },
  });
const run = (...inputs: Input[]): Outcome => inputs.reduce(next, NONE);
const send: Input = { kind: 'send', intent };

describe('a decision', () => {
  it('is recorded by its receipt and by nothing else', () => {
    expect(run(send).kind).toBe('recording');
    expect(run(send, { kind: 'answered', voted: voted() })).toMatchObject({
      kind: 'recorded',
      receipt: 'leaf_1',
    });
  });

  it('is sent once, however often it is pressed', () => {
    const other = { ...intent, key: 'k2' };
    expect(run(send, { kind: 'send', intent: other })).toEqual({ kind: 'recording', intent });
  });

  it('that did not count says so', () => {
    expect(run(send, { kind: 'answered', voted: voted(false) })).toMatchObject({
      isEffectual: false,
    });
  });

  it('about something older is stale, and a refusal is told', () => {
    expect(run(send, { kind: 'failed', error: refusal('stale_revision') }).kind).toBe('stale');
    expect(run(send, { kind: 'failed', error: refusal('not_asked', 403) }).kind).toBe('refused');
  });

  it.each([
    new Unclear('cut'),
    refusal('outcome_unknown', 500),
    refusal('timed_out', 503),
    new TypeError('x'),
  ])('that nobody answered (%s) is neither recorded nor refused', (error) =>
    expect(run(send, { kind: 'failed', error }).kind).toBe('unclear'),
  );

  it('of unknown end is what the record says', () => {
    const cut: Input = { kind: 'failed', error: new Unclear('cut') };
    const look = (votes: Vote[]): Input => ({ kind: 'looked', votes, me: 'usr_me' });
    expect(run(send, cut, look([vote()])).kind).toBe('recorded');
    expect(run(send, cut, look([])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ voter: 'usr_other' })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ revision: 1 })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ answer: 'reject' })])).kind).toBe('absent');
    expect(run(send, cut, look([vote({ withdrawn: true })])).kind).toBe('absent');
  });

  it('of unknown end stays so while nobody answers, and cannot be left', () => {
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

  it('is looked for at growing intervals', () => {
    expect([0, 1, 2, 3, 4, 5, 50].map(lookIn)).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });
});
