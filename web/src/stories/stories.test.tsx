import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { stories } from './stories';

afterEach(cleanup);

it('have names of their own', () => {
  expect(new Set(stories.map(({ name }) => name)).size).toBe(stories.length);
});

it.each(stories)('$name can be shown, quietly', ({ show: Show }) => {
  const complaints = vi.spyOn(console, 'error');
  const { container } = render(<Show />);
  expect(container.innerHTML).not.toBe('');
  expect(complaints).not.toHaveBeenCalled();
});
