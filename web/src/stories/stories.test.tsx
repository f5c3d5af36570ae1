import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { stories } from './stories';

afterEach(cleanup);

it('have unique names', () => {
  expect(new Set(stories.map(({ name }) => name)).size).toBe(stories.length);
});

it.each(stories)('$name renders without console output', ({ show: Show }) => {
  const complaints = vi.spyOn(console, 'error');
  const { container } = render(<Show />);
  expect(container.innerHTML).not.toBe('');
  expect(complaints).not.toHaveBeenCalled();
});
