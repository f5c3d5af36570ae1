// Shows verdicts, and summarizes the result of a policy replay. Pure.
import type { Schemas } from '@/api/client';
import type { ChipTone } from '@/ui/Chip';
import type { Replayed } from './queries';

interface Look {
  readonly sign: string;
  readonly tone: ChipTone;
  readonly bar: string;
}

/** How a verdict looks. Its word is its name, so the meaning never depends on the colour. */
export const VERDICTS: Record<Schemas['Strictness'], Look> = {
  same: { sign: '=', tone: 'quiet', bar: 'bg-quiet-mark' },
  stricter: { sign: '▲', tone: 'review', bar: 'bg-review-mark' },
  looser: { sign: '▼', tone: 'warn', bar: 'bg-high-mark' },
  mixed: { sign: '◆', tone: 'busy', bar: 'bg-busy-mark' },
};

export interface Share {
  readonly name: 'same' | 'stricter' | 'looser' | 'mixed';
  readonly word: string;
  readonly count: number;
  /** Share of all evaluated tasks, from 0 to 1. */
  readonly part: number;
}

export function shares(replayed: Replayed): Share[] {
  const all = Math.max(1, replayed.examined);
  const share = (name: Share['name'], word: string): Share => {
    return { name, word, count: replayed[name], part: replayed[name] / all };
  };
  return [
    share('same', 'same'),
    share('stricter', 'stricter'),
    share('looser', 'looser'),
    share('mixed', 'mixed'),
  ];
}

const tasks = (count: number) => (count === 1 ? '1 task' : `${count.toLocaleString('en')} tasks`);

/** Returns the most important result as one sentence. */
export function gist(replayed: Replayed): string {
  const { examined, without_a_person: alone, looser, stricter, mixed, days } = replayed;
  if (examined === 0) return `No tasks were submitted in the last ${days} days.`;
  if (alone > 0) return `${tasks(alone)} would now be approved automatically.`;
  if (looser + stricter + mixed === 0) return `No change for ${tasks(examined)}.`;
  if (looser + mixed === 0) return `${tasks(stricter)} would be reviewed more strictly.`;
  if (stricter + mixed === 0) return `${tasks(looser)} would be reviewed less strictly.`;
  return `${tasks(looser + stricter + mixed)} would be treated differently.`;
}
