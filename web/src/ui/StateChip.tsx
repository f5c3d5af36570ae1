import type { State } from '@/api/queries';
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

export function StateChip({ state }: { state: State }) {
  const [sign, word, tone] = LOOKS[state];
  return (
    <Chip tone={tone} sign={sign} value={state}>
      {word}
    </Chip>
  );
}
