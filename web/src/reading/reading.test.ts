import { describe, expect, it } from 'vitest';
import { isComplete, Reading, unread } from './reading';

describe('reading', () => {
  it('is complete when every part was seen and none is folded', () => {
    const reading = new Reading();
    expect(isComplete(reading.left()), 'nothing is shown yet').toBe(false);
    const [first, second] = [reading.add('unseen'), reading.add('unseen')];
    const fold = reading.add('folded');
    expect(reading.left()).toEqual({ total: 3, folded: 1, unseen: 2 });
    reading.see(first);
    reading.see(second);
    reading.see(fold);
    expect(isComplete(reading.left()), 'a fold is not seen by looking at it').toBe(false);
    reading.remove(fold);
    expect(isComplete(reading.left())).toBe(true);
    reading.add('unseen');
    expect(isComplete(reading.left()), 'what was unfolded has to be seen').toBe(false);
  });

  it('reports each change once, and the same state as the same object', () => {
    const reading = new Reading();
    let calls = 0;
    const stop = reading.subscribe(() => (calls += 1));
    const part = reading.add('unseen');
    const state = reading.left();
    expect(reading.left()).toBe(state);
    reading.see(part);
    reading.see(part);
    expect(calls).toBe(2);
    stop();
    reading.remove(part);
    expect(calls).toBe(2);
  });

  it('gives a reason in every incomplete state', () => {
    expect(unread({ total: 2, folded: 1, unseen: 1 })).toMatch('folded');
    expect(unread({ total: 7, folded: 0, unseen: 2 })).toMatch('2 of 7 parts');
    expect(unread({ total: 0, folded: 0, unseen: 0 })).toMatch('in a moment');
  });
});
