// Where the reader stands towards a task: what they may do with what is on their screen, or why
// they may not. Pure, so that every case can be tried.
import type { Approval, State, Task, Vote } from '@/api/queries';

export interface Shown {
  readonly revision: number;
  readonly digest: string;
}

export type Stand =
  | { readonly kind: 'decide'; readonly approval: Approval }
  /** Another revision has replaced what is on screen. */
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
  readonly task: Pick<Task, 'state' | 'revision' | 'digest' | 'author' | 'submitter'>;
  readonly shown: Shown;
  readonly approvals: readonly Approval[];
  readonly votes: readonly Vote[];
}

const EARLY: readonly State[] = ['DRAFT', 'SUBMITTED'];

export function stand({ me, task, shown, approvals, votes }: Facts): Stand {
  if (me.isAgent) return { kind: 'agent' };
  if (EARLY.includes(task.state)) return { kind: 'early', state: task.state };
  const mine = approvals.filter(({ reviewer }) => reviewer === me.id);
  const vote = votes.findLast(
    (one) => one.voter === me.id && one.digest === task.digest && !one.withdrawn,
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
  const isOwn = task.author === me.id || task.submitter === me.id;
  return isOwn ? { kind: 'author' } : { kind: 'unasked' };
}

function voted(vote: Vote, mine: readonly Approval[]): Stand {
  return { kind: 'voted', vote, approval: mine.find(({ revision }) => revision === vote.revision) };
}

/** Said in the place of the buttons. */
export function why(stand: Stand): string | undefined {
  switch (stand.kind) {
    case 'author':
      return 'You asked for this task, so somebody else has to agree to it.';
    case 'agent':
      return 'Agents cannot approve. A person has to sign in.';
    case 'scope':
      return 'Your session may read, but not decide. Sign in again with the right to decide.';
    case 'early':
      return 'Its review has not begun.';
    case 'unasked':
      return 'You are not one of its reviewers. “Quorum” says who may answer.';
    case 'over':
      return 'Its review is over.';
    default:
      return undefined;
  }
}
