// What an event means for what the page has read. Many at once become one round.
import type { QueryClient } from '@tanstack/react-query';
import type { Effect, Event } from './reducer';

/** Which task an event is about, if it is about one. */
export function taskOf(event: Event): string | undefined {
  if (event.object.startsWith('task_')) return event.object;
  const { task } = event.data as { task?: unknown };
  return typeof task === 'string' ? task : undefined;
}

export interface Round {
  readonly isAll: boolean;
  readonly tasks: ReadonlySet<string>;
  readonly topics: ReadonlySet<string>;
}

export function roundOf(effects: readonly Effect[]): Round {
  const tasks = new Set<string>();
  const topics = new Set<string>();
  let isAll = false;
  for (const effect of effects) {
    if (effect.do === 'refetch') isAll = true;
    else {
      topics.add(effect.event.type.split('.')[0] ?? '');
      const task = taskOf(effect.event);
      if (task) tasks.add(task);
    }
  }
  return { isAll, tasks, topics };
}

/** More tasks than this in one round, and lists are read anew instead of one by one. */
export const TOUCH_MAX = 40;

type OnTasks = (tasks: ReadonlySet<string>) => void;

export class Applier {
  #waiting: Effect[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: QueryClient,
    private readonly onTasks: OnTasks,
  ) {}

  take = (effects: Effect[]): void => {
    this.#waiting.push(...effects);
    this.#timer ??= setTimeout(() => this.#round(), 16);
  };

  #round(): void {
    this.#timer = undefined;
    const round = roundOf(this.#waiting);
    this.#waiting = [];
    if (round.isAll) {
      void this.client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' });
      return;
    }
    for (const task of round.tasks) {
      void this.client.invalidateQueries({ queryKey: ['task', task] });
    }
    // Whatever happens is written down there, too.
    void this.client.invalidateQueries({ queryKey: ['audit'], refetchType: 'none' });
    if (round.topics.has('agent')) void this.client.invalidateQueries({ queryKey: ['agents'] });
    if (round.topics.has('freeze')) void this.client.invalidateQueries({ queryKey: ['freezes'] });
    if (round.topics.has('lock')) void this.client.invalidateQueries({ queryKey: ['locks'] });
    if (round.tasks.size === 0) return;
    void this.client.invalidateQueries({ queryKey: ['tasks'] });
    if (round.tasks.size > TOUCH_MAX) {
      void this.client.invalidateQueries({ queryKey: ['inbox'] });
    } else {
      this.onTasks(round.tasks);
    }
  }
}
