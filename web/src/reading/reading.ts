// What of a content has been on screen. A vote needs all of it: nothing folded, and every part
// seen. Pure; `react.tsx` observes the parts.

/** How long the last part must have been on screen before one can vote. The same time as in the
 *  terminal. */
export const SHOWN_MS = 800;

export type Part = 'folded' | 'unseen' | 'seen';

export interface Left {
  readonly total: number;
  readonly folded: number;
  readonly unseen: number;
}

export class Reading {
  #parts = new Map<symbol, Part>();
  #listeners = new Set<() => void>();
  #left: Left = { total: 0, folded: 0, unseen: 0 };

  add(part: Part): symbol {
    const key = Symbol();
    this.#parts.set(key, part);
    this.#changed();
    return key;
  }

  see(key: symbol): void {
    if (this.#parts.get(key) !== 'unseen') return;
    this.#parts.set(key, 'seen');
    this.#changed();
  }

  remove(key: symbol): void {
    if (this.#parts.delete(key)) this.#changed();
  }

  /** The same object until something changes. */
  left = (): Left => this.#left;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #changed(): void {
    const all = [...this.#parts.values()];
    this.#left = {
      total: all.length,
      folded: all.filter((part) => part === 'folded').length,
      unseen: all.filter((part) => part === 'unseen').length,
    };
    for (const listener of this.#listeners) listener();
  }
}

export function isComplete({ total, folded, unseen }: Left): boolean {
  return total > 0 && folded === 0 && unseen === 0;
}

/** Reason why one cannot vote yet. */
export function unread({ folded, unseen, total }: Left): string {
  if (folded > 0) return 'Show everything first: a part of what would be approved is folded.';
  if (unseen > 0)
    return `Scroll through everything first: ${unseen} of ${total} parts were not on screen yet.`;
  return 'Read it first: you can approve in a moment.';
}
