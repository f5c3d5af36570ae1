// Maps events to cache invalidations. Events that arrive together are handled in one round.
import type { QueryClient } from '@tanstack/react-query';
import { refetch } from '@/api/refetch';
import type { Effect, Event } from './reducer';
import { Coalescer } from './coalescer';

/** Returns the task of an event, if it has one. */
export function taskOf(event: Event): string | undefined {
  if (event.object.startsWith('task_')) return event.object;
  const { task } = event.data as { task?: unknown };
  return typeof task === 'string' ? task : undefined;
}

export interface Round {
  readonly isAll: boolean;
  readonly tasks: ReadonlySet<string>;
  /** The subset whose list rows may have changed. */
  readonly moved: ReadonlySet<string>;
  readonly topics: ReadonlySet<string>;
}

/** Lock and agent events name tasks but do not change list rows. */
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
  #lists = new Map<string, Coalescer>();

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
      void refetch(this.client, { predicate: ({ queryKey }) => queryKey[0] !== 'me' });
      return;
    }
    for (const task of round.tasks) {
      void refetch(this.client, { queryKey: ['task', task] });
    }
    // Every event also adds an audit entry.
    void this.client.invalidateQueries({ queryKey: ['audit'], refetchType: 'none' });
    if (round.topics.has('agent')) this.#reload('agents');
    if (round.topics.has('change')) {
      this.#reload('changes');
      // A draft says whether it waits.
      this.#reload('policies');
    }
    if (round.topics.has('freeze')) this.#reload('freezes');
    if (round.topics.has('lock')) this.#reload('locks');
    if (round.topics.has('policy')) this.#reload('policies');
    if (round.moved.size === 0) return;
    this.#reload('tasks');
    this.onMoved(round.moved);
  }

  /** Reading a list takes many requests; restarting it on every event would never finish while
   *  events keep arriving. */
  #reload(list: string): void {
    let coalescer = this.#lists.get(list);
    if (!coalescer) {
      coalescer = new Coalescer(() => refetch(this.client, { queryKey: [list] }));
      this.#lists.set(list, coalescer);
    }
    coalescer.ask();
  }
}
