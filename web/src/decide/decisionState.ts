// What the reader can do with the revision on screen, or why not. Pure, so that every case can be
// tested.
import type { Approval, State, Task, Vote } from '@/api/queries';

export interface Shown {
  readonly revision: number;
  readonly digest: string;
}

export type DecisionState =
  | { readonly kind: 'decide'; readonly approval: Approval }
  /** A newer revision has replaced the one on screen. */
  | { readonly kind: 'replaced'; readonly from: number; readonly to: number }
  | { readonly kind: 'voted'; readonly vote: Vote; readonly approval: Approval | undefined }
  | { readonly kind: 'over'; readonly state: State }
  | { readonly kind: 'author' }
  | { readonly kind: 'agent' }
  | { readonly kind: 'scope' }
  | { readonly kind: 'early'; readonly state: State }
  | { readonly kind: 'unasked' };

export interface Facts {
  readonly me: { readonly id: string; readonly isAgent: boolean; readonly mayDecide: boolean };
  readonly task: Pick<Task, 'state' | 'revision' | 'digest' | 'author_id' | 'submitter_id'>;
  readonly shown: Shown;
  readonly approvals: readonly Approval[];
  readonly votes: readonly Vote[];
}

const EARLY: readonly State[] = ['DRAFT', 'SUBMITTED'];

export function decisionState({ me, task, shown, approvals, votes }: Facts): DecisionState {
  if (me.isAgent) return { kind: 'agent' };
  if (EARLY.includes(task.state)) return { kind: 'early', state: task.state };
  const mine = approvals.filter(({ reviewer_id: reviewer }) => reviewer === me.id);
  const vote = votes.findLast(
    (one) => one.voter_id === me.id && one.digest === task.digest && !one.withdrawn,
  );
  if (task.state !== 'REVIEWING')
    return vote ? voted(vote, mine) : { kind: 'over', state: task.state };
  if (task.digest !== shown.digest || task.revision !== shown.revision) {
    return { kind: 'replaced', from: shown.revision, to: task.revision };
  }
  if (vote) return voted(vote, mine);
  const asked = mine.find(
    ({ status, revision }) => status === 'PENDING' && revision === task.revision,
  );
  if (asked) return me.mayDecide ? { kind: 'decide', approval: asked } : { kind: 'scope' };
  const isOwn = task.author_id === me.id || task.submitter_id === me.id;
  return isOwn ? { kind: 'author' } : { kind: 'unasked' };
}

function voted(vote: Vote, mine: readonly Approval[]): DecisionState {
  return { kind: 'voted', vote, approval: mine.find(({ revision }) => revision === vote.revision) };
}

/** Reason shown instead of the buttons. */
export function why(decisionState: DecisionState): string | undefined {
  switch (decisionState.kind) {
    case 'author':
      return 'You can’t approve your own task.';
    case 'agent':
      return 'Agents can’t approve tasks. Sign in as a person.';
    case 'scope':
      return 'Your session can’t approve tasks. Sign in again with permission to decide.';
    case 'early':
      return 'The review has not started.';
    case 'unasked':
      return 'You are not a reviewer of this task. “Quorum” lists who can vote.';
    case 'over':
      return 'The review has ended.';
    default:
      return undefined;
  }
}
