import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { DeviceLook } from './DevicePage';

afterEach(cleanup);

const request = {
  user_code: 'BCDF-GHJK',
  client_name: 'ade on \u202elaptop',
  address: '10.0.0.7',
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
      barred={undefined}
      isPending={false}
      error={null}
      {...heard}
      {...more}
    />,
  );
  return heard;
}

it('shows who asks, and what they wrote as nothing but text', () => {
  look();
  expect(screen.getByText('BCDF-GHJK')).toBeTruthy();
  expect(screen.getByText('10.0.0.7')).toBeTruthy();
  expect(screen.getByText('U+202E', { exact: false })).toBeTruthy();
});

it('gives what is left ticked, and no more', () => {
  const { onAnswer } = look();
  fireEvent.click(screen.getByLabelText('administer'));
  fireEvent.click(screen.getByRole('button', { name: 'Let it in' }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith(['read', 'decide']);
});

it('gives nothing to what is turned away', () => {
  const { onAnswer } = look();
  fireEvent.click(screen.getByRole('button', { name: 'Turn it away' }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith(undefined);
});

it('lets nothing in that may do nothing, nor for who may not', () => {
  const { onAnswer } = look({ offered: ['read'] });
  fireEvent.click(screen.getByLabelText('read'));
  fireEvent.click(screen.getByRole('button', { name: 'Let it in' }));
  cleanup();
  const barred = look({ barred: 'Only people let terminals in.' });
  fireEvent.click(screen.getByRole('button', { name: 'Let it in' }));
  fireEvent.click(screen.getByRole('button', { name: 'Turn it away' }));
  expect(onAnswer).not.toHaveBeenCalled();
  expect(barred.onAnswer).not.toHaveBeenCalled();
});

it('takes a code however it is typed, once it is whole', () => {
  const { onCode } = look({ stage: 'typing', request: undefined });
  const field = screen.getByLabelText('The code that your terminal shows');
  fireEvent.change(field, { target: { value: 'bcdf gh' } });
  fireEvent.submit(field);
  expect(onCode).not.toHaveBeenCalled();
  fireEvent.change(field, { target: { value: 'bcdf ghjk' } });
  fireEvent.submit(field);
  expect(onCode).toHaveBeenCalledExactlyOnceWith('BCDF-GHJK');
});
