// Who has answered, who may, and whose answer was about something else.
import type { Schemas } from '@/api/client';
import type { Vote } from '@/api/queries';

export type Sign = 'approved' | 'rejected' | 'changes' | 'stale' | 'late' | 'you' | 'may';

export interface Voter {
  readonly user: string;
  readonly sign: Sign;
  readonly at: string | undefined;
  readonly revision: number | undefined;
  readonly carriedFrom: number | undefined;
  readonly reason: string | undefined;
  /** For whom they would answer, themselves included if they are asked in person. */
  readonly forUsers: readonly string[];
}

const ANSWERED = { approve: 'approved', reject: 'rejected', request_changes: 'changes' } as const;

function voterOf(vote: Vote, digest: string): Voter {
  const isAbout = vote.digest === digest;
  const sign = !isAbout ? 'stale' : vote.effectual ? ANSWERED[vote.answer] : 'late';
  return {
    user: vote.voter,
    sign,
    at: vote.at,
    revision: vote.revision,
    carriedFrom: vote.carried_from ?? undefined,
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
  const standing = votes.filter(({ withdrawn }) => !withdrawn);
  const counted = standing
    .filter((vote) => vote.digest === digest)
    .map((vote) => voterOf(vote, digest));
  const answered = new Set(counted.map(({ user }) => user));
  const open = mayAnswer
    .filter(({ user }) => !answered.has(user))
    .map(
      ({ user, for_users }): Voter => ({
        user,
        sign: user === me ? 'you' : 'may',
        at: undefined,
        revision: undefined,
        carriedFrom: undefined,
        reason: undefined,
        forUsers: for_users,
      }),
    )
    .sort((one, other) => Number(other.user === me) - Number(one.user === me));
  const older = standing
    .filter((vote) => vote.digest !== digest)
    .map((vote) => voterOf(vote, digest));
  return [...counted, ...open, ...older];
}
