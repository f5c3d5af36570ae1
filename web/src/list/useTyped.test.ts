import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useTyped } from './useTyped';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function field() {
  const onChange = vi.fn<(value: string) => void>();
  const { result, rerender } = renderHook(({ value }) => useTyped(value, onChange), {
    initialProps: { value: '' },
  });
  return {
    onChange,
    type: (text: string) => act(() => result.current[1](text)),
    rest: () => act(() => void vi.advanceTimersByTime(200)),
    give: (value: string) => rerender({ value }),
    text: () => result.current[0],
  };
}

it('reports typed text after a pause', () => {
  const { onChange, type, rest } = field();
  type('t');
  type('t-');
  rest();
  expect(onChange.mock.calls).toEqual([['t-']]);
});

it('keeps typed text when a reported value comes back', () => {
  const { onChange, type, rest, give, text } = field();
  type('t');
  rest();
  type('t-7');
  give('t');
  expect(text()).toBe('t-7');
  rest();
  expect(onChange).toHaveBeenLastCalledWith('t-7');
  type('t-70');
  rest();
  give('t-7');
  expect(text()).toBe('t-70');
  give('t-70');
  expect(text()).toBe('t-70');
});

it('replaces typed text with an outside value, even a reported one', () => {
  const { type, rest, give, text } = field();
  type('t');
  rest();
  give('t');
  give('');
  expect(text()).toBe('');
  type('ab');
  give('t');
  expect(text()).toBe('t');
});
