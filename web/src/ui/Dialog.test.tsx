import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Cancel, Dialog } from './Dialog';

afterEach(cleanup);

function Reason({ onClose, isSearch = false }: { onClose: () => void; isSearch?: boolean }) {
  const [reason, setReason] = useState('');
  return (
    <Dialog isOpen onClose={onClose} title="Reject" isSearch={isSearch}>
      <label>
        <input type="checkbox" /> Loud
      </label>
      <input aria-label="Why" value={reason} onChange={(event) => setReason(event.target.value)} />
      <Cancel />
    </Dialog>
  );
}

const escape = () => fireEvent.keyDown(document, { key: 'Escape' });
const type = (text: string) => {
  fireEvent.input(screen.getByLabelText('Why'), { target: { value: text } });
};

describe('focus of a dialog', () => {
  it('goes to the first text field, and the ✕ comes last', () => {
    render(<Reason onClose={() => {}} />);
    expect(document.activeElement).toBe(screen.getByLabelText('Why'));
    const buttons = [...screen.getByRole('dialog').querySelectorAll('button')];
    expect(buttons.at(-1)?.getAttribute('aria-label')).toBe('Close');
  });

  it('goes to the safe button if there is no field', () => {
    render(
      <Dialog isOpen onClose={() => {}} title="Confirm">
        <button type="button">Approve</button>
        <Cancel />
      </Dialog>,
    );
    expect(document.activeElement?.textContent).toBe('Cancel');
  });

  it('stays on the dialog itself if it only shows something', () => {
    render(
      <Dialog isOpen onClose={() => {}} title="Keys">
        <input type="checkbox" aria-label="Single keys" />
      </Dialog>,
    );
    expect(document.activeElement).toBe(screen.getByRole('dialog'));
  });
});

describe('typed text', () => {
  it.each([
    ['Escape', escape],
    ['the ✕', () => fireEvent.click(screen.getByLabelText('Close'))],
    ['Cancel', () => fireEvent.click(screen.getByText('Cancel'))],
  ])('is not discarded by %s without a question', (_name, close) => {
    const onClose = vi.fn();
    render(<Reason onClose={onClose} />);
    type('hides a drop');
    close();
    expect(onClose).not.toHaveBeenCalled();
    expect(document.activeElement?.textContent).toBe('Keep editing');
    // A second Escape goes back to the text.
    escape();
    expect(screen.queryByText('Discard')).toBeNull();
    expect(onClose).not.toHaveBeenCalled();
    expect(document.activeElement).toBe(screen.getByLabelText('Why'));
    close();
    fireEvent.click(screen.getByText('Discard'));
    expect(onClose).toHaveBeenCalledTimes(1);
  });

  it('is not asked about if none is left, or if it was a search', () => {
    const onClose = vi.fn();
    const { unmount } = render(<Reason onClose={onClose} />);
    type('x');
    type('  ');
    escape();
    expect(onClose).toHaveBeenCalledTimes(1);
    unmount();
    render(<Reason onClose={onClose} isSearch />);
    type('T-8');
    escape();
    expect(onClose).toHaveBeenCalledTimes(2);
  });
});
