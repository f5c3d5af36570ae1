// What an event means for what the page has read. Many at once become one round.
import type { QueryClient } from '@tanstack/react-query';
import type { Effect, Event } from './reducer';
import { Turn } from './turn';

/** Which task an event is about, if it is about one. */
export function taskOf(event: Event): string | undefined {
  if (event.object.startsWith('task_')) return event.object;
  const { task } = event.data as { task?: unknown };
  return typeof task === 'string' ? task : undefined;
}

export interface Round {
  readonly isAll: boolean;
  readonly tasks: ReadonlySet<string>;
  /** Those of them that a list may show otherwise than before. */
  readonly moved: ReadonlySet<string>;
  readonly topics: ReadonlySet<string>;
}

/** Locks tell of their task, too, and agents talk: neither changes a row. */
const MOVING = new Set(['task', 'approval', 'override']);
const STILL = 'task.commented';

export function roundOf(effects: readonly Effect[]): Round {
  const tasks = new Set<string>();
  const moved = new Set<string>();
  const topics = new Set<string>();
  let isAll = false;
  for (const effect of effects) {
    if (effect.do === 'refetch') isAll = true;
    else {
      const { type } = effect.event;
      const topic = type.split('.')[0] ?? '';
      topics.add(topic);
      const task = taskOf(effect.event);
      if (task) tasks.add(task);
      if (task && MOVING.has(topic) && type !== STILL) moved.add(task);
    }
  }
  return { isAll, tasks, moved, topics };
}

type OnMoved = (tasks: ReadonlySet<string>) => void;

export class Applier {
  #waiting: Effect[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lists = new Map<string, Turn>();

  constructor(
    private readonly client: QueryClient,
    private readonly onMoved: OnMoved,
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
    if (round.topics.has('agent')) this.#readAnew('agents');
    if (round.topics.has('freeze')) this.#readAnew('freezes');
    if (round.topics.has('lock')) this.#readAnew('locks');
    if (round.topics.has('policy')) this.#readAnew('policies');
    if (round.moved.size === 0) return;
    this.#readAnew('tasks');
    this.onMoved(round.moved);
  }

  /** A list takes many requests to read; begun again at each event it would never be read to its
   *  end while events come. */
  #readAnew(list: string): void {
    let turn = this.#lists.get(list);
    if (!turn) {
      turn = new Turn(() => this.client.invalidateQueries({ queryKey: [list] }));
      this.#lists.set(list, turn);
    }
    turn.ask();
  }
}
