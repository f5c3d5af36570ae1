import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Task } from '@/api/queries';
import { ARMED_MS, type Armed, reviewFirst, useArmed } from './useArmed';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const T1 = { id: 'task_1', revision: 1, digest: 'a' };
const T2 = { id: 'task_2', revision: 1, digest: 'b' };

type Shown = typeof T1 | undefined;

function page(first: Shown = T1) {
  const approve = vi.fn();
  const hook = renderHook<Armed, { shown: Shown }>(({ shown }) => useArmed(shown, approve), {
    initialProps: { shown: first },
  });
  return {
    approve,
    isArmed: () => hook.result.current.isArmed,
    show: (shown: Shown) => hook.rerender({ shown }),
    press: () => act(() => hook.result.current.press()),
    escape: () => act(() => hook.result.current.disarm()),
    wait: (ms: number) => act(() => void vi.advanceTimersByTime(ms)),
  };
}

describe('approving by key', () => {
  it('arms with the first press and acts with the second', () => {
    const { approve, isArmed, press } = page();
    press();
    expect(isArmed()).toBe(true);
    expect(approve).not.toHaveBeenCalled();
    press();
    expect(approve).toHaveBeenCalledTimes(1);
    expect(isArmed()).toBe(false);
  });

  it('never carries over to another task, nor back again', () => {
    const { approve, isArmed, show, press } = page();
    press();
    show(T2);
    expect(isArmed()).toBe(false);
    press();
    show(T1);
    expect(isArmed()).toBe(false);
    expect(approve).not.toHaveBeenCalled();
  });

  it.each([
    ['revision', { ...T1, revision: 2 }],
    ['content', { ...T1, digest: 'c' }],
    ['reading', undefined],
  ])('does not carry over to another %s of the task', (_name, other) => {
    const { approve, isArmed, show, press } = page();
    press();
    show(other);
    expect(isArmed()).toBe(false);
    press();
    expect(approve).not.toHaveBeenCalled();
  });

  it('is given up by Escape, and by waiting', () => {
    const { approve, isArmed, press, escape, wait } = page();
    press();
    escape();
    expect(isArmed()).toBe(false);
    press();
    wait(ARMED_MS);
    expect(isArmed()).toBe(false);
    press();
    expect(isArmed()).toBe(true);
    expect(approve).not.toHaveBeenCalled();
  });

  it('does nothing before the content was read', () => {
    const { approve, isArmed, show, press } = page();
    show(undefined);
    press();
    press();
    expect(isArmed()).toBe(false);
    show(T1);
    expect(isArmed(), 'early presses are not kept').toBe(false);
    expect(approve).not.toHaveBeenCalled();
  });
});

describe('what has to be reviewed on its own page', () => {
  const task = (level: string, irreversible = false) =>
    ({ risk: { level }, effect: { counts: { irreversible: irreversible ? 1 : 0 } } }) as Task;

  it.each([
    ['high', false],
    ['critical', false],
    ['low', true],
  ])('includes %s, irreversible: %s', (level, irreversible) => {
    expect(reviewFirst(task(level, irreversible))).toMatch(/review page/);
  });

  it.each(['low', 'medium'])('does not include %s that can be undone', (level) => {
    expect(reviewFirst(task(level))).toBeUndefined();
  });
});
