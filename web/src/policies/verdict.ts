// What a replay of past tasks means, in words. Pure.
import type { Replayed } from './queries';

export interface Share {
  readonly name: 'same' | 'stricter' | 'looser' | 'mixed';
  readonly word: string;
  readonly count: number;
  /** Of all that were looked at, from 0 to 1. */
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
    share('mixed', 'some of both'),
  ];
}

const tasks = (count: number) => (count === 1 ? '1 task' : `${count.toLocaleString('en')} tasks`);

/** The one sentence that a reader has to see first. */
export function gist(replayed: Replayed): string {
  const { examined, without_a_person: alone, looser, stricter, mixed, days } = replayed;
  if (examined === 0) return `Nothing was handed in during the last ${days} days to try it on.`;
  if (alone > 0) return `${tasks(alone)} would now pass without a person.`;
  if (looser + stricter + mixed === 0) return `Nothing would change for ${tasks(examined)}.`;
  if (looser + mixed === 0) return `${tasks(stricter)} would need more than before.`;
  if (stricter + mixed === 0) return `${tasks(looser)} would need less than before.`;
  return `${tasks(looser + stricter + mixed)} would be treated differently.`;
}
