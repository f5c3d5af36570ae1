import { describe, expect, it } from 'vitest';
import type { Approval, State, Vote } from '@/api/queries';
import { type Facts, decisionState, why } from './decisionState';

const approval = (more: Partial<Approval> = {}): Approval => ({
  id: 'apr_1',
  reviewer_id: 'usr_me',
  status: 'PENDING',
  revision: 2,
  requested_at: '',
  due_at: '',
  overdue: false,
  seats: [],
  urgency: 1,
  task: {} as Approval['task'],
  ...more,
});
const vote = (more: Partial<Vote> = {}): Vote => ({
  voter_id: 'usr_me',
  answer: 'approve',
  revision: 2,
  digest: 'sha256:b',
  at: '',
  counted: true,
  withdrawn: false,
  ...more,
});
const facts = (more: Partial<Facts> = {}, task: Partial<Facts['task']> = {}): Facts => ({
  me: { id: 'usr_me', isAgent: false, mayDecide: true },
  task: {
    state: 'REVIEWING',
    revision: 2,
    digest: 'sha256:b',
    author_id: 'usr_bob',
    submitter_id: 'usr_bob',
    ...task,
  },
  shown: { revision: 2, digest: 'sha256:b' },
  approvals: [approval()],
  votes: [],
  ...more,
});
const kind = (given: Facts) => decisionState(given).kind;
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

describe('decision state', () => {
  it('allows a decision on the shown revision', () => {
    expect(kind(facts())).toBe('decide');
  });

  it.each(STATES.filter((state) => state !== 'REVIEWING'))('allows no decision in %s', (state) => {
    expect(kind(facts({}, { state }))).not.toBe('decide');
  });

  it('allows no decision on a replaced revision or other content', () => {
    const shown = { revision: 1, digest: 'sha256:a' };
    expect(decisionState(facts({ shown }))).toEqual({ kind: 'replaced', from: 1, to: 2 });
    expect(kind(facts({ shown: { revision: 2, digest: 'sha256:x' } }))).toBe('replaced');
  });

  it('ignores requests to others, on other revisions, and answered ones', () => {
    const status = 'SUPERSEDED' as const;
    for (const one of [{ reviewer_id: 'usr_x' }, { revision: 1 }, { status }]) {
      expect(kind(facts({ approvals: [approval(one)] }))).toBe('unasked');
    }
  });

  it('recognizes a valid vote on this content', () => {
    expect(kind(facts({ votes: [vote()] }))).toBe('voted');
    expect(kind(facts({ votes: [vote({ withdrawn: true })] }))).toBe('decide');
    expect(kind(facts({ votes: [vote({ digest: 'sha256:a', revision: 1 })] }))).toBe('decide');
    expect(kind(facts({ votes: [vote({ revision: 1, carried_from: 1 })] }))).toBe('voted');
  });

  it('blocks agents, missing scopes and authors', () => {
    expect(kind(facts({ me: { id: 'usr_me', isAgent: true, mayDecide: true } }))).toBe('agent');
    expect(kind(facts({ me: { id: 'usr_me', isAgent: false, mayDecide: false } }))).toBe('scope');
    expect(kind(facts({ approvals: [] }, { author_id: 'usr_me' }))).toBe('author');
  });

  it('gives a reason whenever no decision is possible', () => {
    for (const given of [
      facts({ approvals: [] }),
      facts({ approvals: [] }, { author_id: 'usr_me' }),
      facts({}, { state: 'DRAFT' }),
      facts({}, { state: 'EXPIRED' }),
    ]) {
      expect(why(decisionState(given))).toBeTruthy();
    }
  });
});
