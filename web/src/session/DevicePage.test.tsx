import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { DeviceLook } from './DevicePage';

afterEach(cleanup);

const request = {
  user_code: 'BCDF-GHJK',
  client_name: 'ade on \u202elaptop',
  address: '10.0.0.7',
  address_differs: false,
  user_agent: 'ade/1',
  status: 'pending',
  created_at: '2026-11-15T10:00:00Z',
  expires_at: '2026-11-15T10:10:00Z',
} as const;

function look(more: Partial<Parameters<typeof DeviceLook>[0]> = {}) {
  const heard = { onAnswer: vi.fn(), onCode: vi.fn(), onRetry: vi.fn() };
  render(
    <DeviceLook
      stage="asked"
      request={request}
      start=""
      trouble={null}
      offered={['read', 'decide', 'administer']}
      disabledReason={undefined}
      isPending={false}
      error={null}
      {...heard}
      {...more}
    />,
  );
  return heard;
}

it('shows the request, with its name as plain text', () => {
  look();
  expect(screen.getByText('BCDF-GHJK')).toBeTruthy();
  expect(screen.getByText('10.0.0.7')).toBeTruthy();
  expect(screen.getByText('U+202E', { exact: false })).toBeTruthy();
});

it('grants reading and proposing unless more is selected', () => {
  const offered = ['read', 'propose', 'decide', 'administer'] as const;
  const { onAnswer } = look({ offered });
  fireEvent.click(screen.getByRole('button', { name: 'Authorize' }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith(['read', 'propose']);
  expect(screen.getByText('for 30 days', { exact: false })).toBeTruthy();
});

it('grants the selected scopes, and decides for eight hours only', () => {
  const { onAnswer } = look();
  fireEvent.click(screen.getByLabelText('Approve and reject tasks'));
  expect(screen.getByText('for 8 hours', { exact: false })).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Authorize' }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith(['read', 'decide']);
});

it('warns of a terminal at another address', () => {
  look();
  expect(screen.queryByRole('alert')).toBeNull();
  cleanup();
  look({ request: { ...request, address_differs: true } });
  expect(screen.getByRole('alert').textContent).toContain('not the address of your browser');
});

it('grants nothing when denied', () => {
  const { onAnswer } = look();
  fireEvent.click(screen.getByRole('button', { name: 'Deny' }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith(undefined);
});

it('is disabled without scopes or permission', () => {
  const { onAnswer } = look({ offered: ['read'] });
  fireEvent.click(screen.getByLabelText('Read'));
  fireEvent.click(screen.getByRole('button', { name: 'Authorize' }));
  cleanup();
  const disabled = look({ disabledReason: 'Only people can authorize a terminal.' });
  fireEvent.click(screen.getByRole('button', { name: 'Authorize' }));
  fireEvent.click(screen.getByRole('button', { name: 'Deny' }));
  expect(onAnswer).not.toHaveBeenCalled();
  expect(disabled.onAnswer).not.toHaveBeenCalled();
});

it('accepts a complete code in any notation', () => {
  const { onCode } = look({ stage: 'typing', request: undefined });
  const field = screen.getByLabelText('Code shown in your terminal');
  fireEvent.change(field, { target: { value: 'bcdf gh' } });
  fireEvent.submit(field);
  expect(onCode).not.toHaveBeenCalled();
  fireEvent.change(field, { target: { value: 'bcdf ghjk' } });
  fireEvent.submit(field);
  expect(onCode).toHaveBeenCalledExactlyOnceWith('BCDF-GHJK');
});
