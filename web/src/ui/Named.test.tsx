import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { Named } from './Named';

afterEach(cleanup);

it('marks only names that mix scripts', () => {
  const { container, rerender } = render(<Named text={'Restart pr\u043ed'} />);
  expect(screen.getByText('mixed: Cyrillic+Latin')).toBeTruthy();
  expect(container.querySelector('bdi')?.textContent).toBe('Restart pr\u043ed');
  rerender(<Named text="Restart prod" />);
  expect(container.querySelector('[data-mixed]')).toBeNull();
});
