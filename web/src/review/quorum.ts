// Lists who voted, who can still vote, and whose vote was on another revision.
import type { Schemas } from '@/api/client';
import type { Vote } from '@/api/queries';

export type Sign = 'approved' | 'rejected' | 'changes' | 'stale' | 'late' | 'you' | 'may';

export interface Voter {
  readonly user: string;
  readonly sign: Sign;
  readonly at: string | undefined;
  readonly revision: number | undefined;
  readonly carriedFrom: number | undefined;
  readonly marks: Vote['marks'];
  readonly reason: string | undefined;
  /** Users for whom the vote counts, including the voter if they are a reviewer themselves. */
  readonly forUsers: readonly string[];
}

const ANSWERED = { approve: 'approved', reject: 'rejected', request_changes: 'changes' } as const;

function voterOf(vote: Vote, digest: string): Voter {
  const isAbout = vote.digest === digest;
  const sign = !isAbout ? 'stale' : vote.counted ? ANSWERED[vote.answer] : 'late';
  return {
    user: vote.voter_id,
    sign,
    at: vote.at,
    revision: vote.revision,
    carriedFrom: vote.carried_from ?? undefined,
    marks: vote.marks,
    reason: vote.reason ?? undefined,
    forUsers: [],
  };
}

export function voters(
  votes: readonly Vote[],
  mayAnswer: readonly Schemas['Reviewer'][],
  digest: string,
  me: string,
): Voter[] {
  const active = votes.filter(({ withdrawn }) => !withdrawn);
  const counted = active
    .filter((vote) => vote.digest === digest)
    .map((vote) => voterOf(vote, digest));
  const answered = new Set(counted.map(({ user }) => user));
  const open = mayAnswer
    .filter(({ user_id: user }) => !answered.has(user))
    .map(
      ({ user_id: user, for_user_ids: forUsers }): Voter => ({
        user,
        sign: user === me ? 'you' : 'may',
        at: undefined,
        revision: undefined,
        carriedFrom: undefined,
        marks: [],
        reason: undefined,
        forUsers,
      }),
    )
    .sort((one, other) => Number(other.user === me) - Number(one.user === me));
  const older = active
    .filter((vote) => vote.digest !== digest)
    .map((vote) => voterOf(vote, digest));
  return [...counted, ...open, ...older];
}
