import { describe, expect, it } from 'vitest';
import type { Approval, State, Vote } from '@/api/queries';
import { type Facts, stand, why } from './stand';

const approval = (more: Partial<Approval> = {}): Approval => ({
  id: 'apr_1',
  reviewer: 'usr_me',
  status: 'PENDING',
  revision: 2,
  requested_at: '',
  due_at: '',
  overdue: false,
  places: [],
  score: 1,
  task: {} as Approval['task'],
  ...more,
});
const vote = (more: Partial<Vote> = {}): Vote => ({
  voter: 'usr_me',
  answer: 'approve',
  revision: 2,
  digest: 'sha256:b',
  at: '',
  effectual: true,
  withdrawn: false,
  ...more,
});
const facts = (more: Partial<Facts> = {}, task: Partial<Facts['task']> = {}): Facts => ({
  me: { id: 'usr_me', isAgent: false, mayDecide: true },
  task: {
    state: 'REVIEWING',
    revision: 2,
    digest: 'sha256:b',
    author: 'usr_bob',
    submitter: 'usr_bob',
    ...task,
  },
  shown: { revision: 2, digest: 'sha256:b' },
  approvals: [approval()],
  votes: [],
  ...more,
});
const kind = (given: Facts) => stand(given).kind;
const STATES: State[] = [
  'DRAFT',
  'SUBMITTED',
  'REVIEWING',
  'APPROVED',
  'APPLYING',
  'COMPLETED',
  'REJECTED',
  'CANCELLED',
  'FAILED',
  'UNKNOWN',
  'EXPIRED',
];

describe('the reader', () => {
  it('decides what is on screen while they are asked about it', () => {
    expect(kind(facts())).toBe('decide');
  });

  it.each(STATES.filter((state) => state !== 'REVIEWING'))('decides nothing in %s', (state) => {
    expect(kind(facts({}, { state }))).not.toBe('decide');
  });

  it('decides nothing about a revision that was replaced, nor about other content', () => {
    const shown = { revision: 1, digest: 'sha256:a' };
    expect(stand(facts({ shown }))).toEqual({ kind: 'replaced', from: 1, to: 2 });
    expect(kind(facts({ shown: { revision: 2, digest: 'sha256:x' } }))).toBe('replaced');
  });

  it('is not asked by requests of others, of other revisions, or answered ones', () => {
    for (const one of [{ reviewer: 'usr_x' }, { revision: 1 }, { status: 'SUPERSEDED' as const }]) {
      expect(kind(facts({ approvals: [approval(one)] }))).toBe('unasked');
    }
  });

  it('has voted if the vote is about this content and stands', () => {
    expect(kind(facts({ votes: [vote()] }))).toBe('voted');
    expect(kind(facts({ votes: [vote({ withdrawn: true })] }))).toBe('decide');
    expect(kind(facts({ votes: [vote({ digest: 'sha256:a', revision: 1 })] }))).toBe('decide');
    expect(kind(facts({ votes: [vote({ revision: 1, carried_from: 1 })] }))).toBe('voted');
  });

  it('never decides as an agent, without the right, or on their own task', () => {
    expect(kind(facts({ me: { id: 'usr_me', isAgent: true, mayDecide: true } }))).toBe('agent');
    expect(kind(facts({ me: { id: 'usr_me', isAgent: false, mayDecide: false } }))).toBe('scope');
    expect(kind(facts({ approvals: [] }, { author: 'usr_me' }))).toBe('author');
  });

  it('is told why, whenever there is nothing to press', () => {
    for (const given of [
      facts({ approvals: [] }),
      facts({ approvals: [] }, { author: 'usr_me' }),
      facts({}, { state: 'DRAFT' }),
      facts({}, { state: 'EXPIRED' }),
    ]) {
      expect(why(stand(given))).toBeTruthy();
    }
  });
});
