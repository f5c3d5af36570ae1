import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Task } from '@/api/queries';
import { ARMED_MS, type Armed, reviewFirst, SHOWN_MS, useArmed } from './useArmed';

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
    state: () => hook.result.current.state,
    show: (shown: Shown) => hook.rerender({ shown }),
    press: () => act(() => hook.result.current.press()),
    escape: () => act(() => hook.result.current.disarm()),
    wait: (ms: number) => act(() => void vi.advanceTimersByTime(ms)),
  };
}

describe('approving from the list', () => {
  it('arms with the first press and acts with the second', () => {
    const { approve, state, press, wait } = page();
    wait(SHOWN_MS);
    press();
    expect(state()).toBe('armed');
    expect(approve).not.toHaveBeenCalled();
    press();
    expect(approve).toHaveBeenCalledTimes(1);
    expect(state()).toBe('idle');
  });

  it('does not arm before the preview was shown long enough', () => {
    const { approve, state, press, wait } = page();
    press();
    wait(SHOWN_MS - 1);
    press();
    expect(state()).toBe('early');
    wait(1);
    press();
    expect(state()).toBe('armed');
    expect(approve).not.toHaveBeenCalled();
  });

  it('never carries over to another row, nor back again', () => {
    const { approve, state, show, press, wait } = page();
    wait(SHOWN_MS);
    press();
    show(T2);
    expect(state()).toBe('idle');
    press();
    show(T1);
    expect(state()).toBe('idle');
    press();
    expect(state(), 'and its preview has to be shown again').toBe('early');
    expect(approve).not.toHaveBeenCalled();
  });

  it.each([
    ['revision', { ...T1, revision: 2 }],
    ['content', { ...T1, digest: 'c' }],
  ])('does not carry over to another %s of the task', (_name, other) => {
    const { approve, state, show, press, wait } = page();
    wait(SHOWN_MS);
    press();
    show(other);
    expect(state()).toBe('idle');
    press();
    expect(approve).not.toHaveBeenCalled();
  });

  it('is given up by Escape, and by waiting', () => {
    const { approve, state, press, escape, wait } = page();
    wait(SHOWN_MS);
    press();
    escape();
    expect(state()).toBe('idle');
    press();
    wait(ARMED_MS);
    expect(state()).toBe('idle');
    press();
    expect(state()).toBe('armed');
    expect(approve).not.toHaveBeenCalled();
  });

  it('does nothing without a preview', () => {
    const { approve, state, show, press, wait } = page();
    show(undefined);
    wait(SHOWN_MS);
    press();
    press();
    expect(state()).toBe('idle');
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
