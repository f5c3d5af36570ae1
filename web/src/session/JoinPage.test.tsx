import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { JoinLook } from './JoinPage';

afterEach(cleanup);

function look(hasInvitation: boolean) {
  const onAccept = vi.fn();
  const rest = { isPending: false, error: null, onAccept };
  render(<JoinLook hasInvitation={hasInvitation} {...rest} />);
  return onAccept;
}

it('accepts only when the person presses the button', () => {
  const onAccept = look(true);
  expect(onAccept).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole('button', { name: 'Sign in' }));
  expect(onAccept).toHaveBeenCalledOnce();
});

it('offers nothing without an invitation', () => {
  look(false);
  expect(screen.queryByRole('button')).toBeNull();
  expect(screen.getByRole('alert').textContent).toContain('incomplete');
});
