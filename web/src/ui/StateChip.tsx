import type { State, TaskSummary } from '@/api/queries';
import { Chip, type ChipTone } from './Chip';

const LOOKS: Record<State, [sign: string, word: string, tone: ChipTone]> = {
  DRAFT: ['○', 'Draft', 'quiet'],
  SUBMITTED: ['◔', 'Submitted', 'review'],
  REVIEWING: ['◐', 'In review', 'review'],
  APPROVED: ['✓', 'Approved', 'good'],
  APPLYING: ['⟳', 'Applying', 'busy'],
  COMPLETED: ['●', 'Completed', 'good'],
  REJECTED: ['✕', 'Rejected', 'bad'],
  CANCELLED: ['⊘', 'Cancelled', 'quiet'],
  FAILED: ['✕', 'Failed', 'bad'],
  UNKNOWN: ['?', 'Unknown', 'bad'],
  EXPIRED: ['⊘', 'Expired', 'quiet'],
};

export const STATES = Object.keys(LOOKS) as [State, ...State[]];

export function stateWord(state: State): string {
  return LOOKS[state][1];
}

export type SubState = NonNullable<TaskSummary['sub_state']>;

const DETAILS: Record<SubState, (typeof LOOKS)[State]> = {
  CHANGES_REQUESTED: ['↩', 'Changes requested', 'review'],
  RELEASED_TO_HOST: ['?', 'Released to host', 'quiet'],
};

/** `detail` is the sub-state, which replaces the state where there is one. */
export function StateChip({
  state,
  detail,
}: {
  state: State;
  detail?: SubState | null | undefined;
}) {
  const [sign, word, tone] = detail ? DETAILS[detail] : LOOKS[state];
  return (
    <Chip tone={tone} sign={sign} value={detail ?? state}>
      {word}
    </Chip>
  );
}
