import { describe, expect, it, vi } from 'vitest';
import { type Action, Keys } from './registry';

function set(...rows: [string, string][]): { keys: Keys; ran: string[] } {
  const keys = new Keys();
  const ran: string[] = [];
  const actions: Action[] = rows.map(([id, press]) => ({
    id,
    title: id,
    group: 'List',
    keys: [press],
    run: () => ran.push(id),
  }));
  keys.add(() => actions);
  return { keys, ran };
}
const press = (key: string, more: KeyboardEventInit = {}) =>
  new KeyboardEvent('keydown', { key, cancelable: true, ...more });

describe('keys', () => {
  it('run their action regardless of case', () => {
    const { keys, ran } = set(['approve', 'a']);
    keys.handle(press('a'), false);
    keys.handle(press('A'), false);
    expect(ran).toEqual(['approve', 'approve']);
  });

  it('have no other meaning within a sequence', () => {
    const { keys, ran } = set(['approve', 'a'], ['agents', 'g a']);
    keys.handle(press('g'), false);
    keys.handle(press('a'), false);
    expect(ran).toEqual(['agents']);
    keys.handle(press('a'), false);
    expect(ran).toEqual(['agents', 'approve']);
  });

  it('do nothing after an unknown sequence', () => {
    const { keys, ran } = set(['approve', 'a'], ['inbox', 'g i']);
    keys.handle(press('g'), false, 0);
    keys.handle(press('a'), false, 10);
    expect(ran).toEqual([]);
  });

  it('drop a sequence that is not finished in time', () => {
    const { keys, ran } = set(['approve', 'a'], ['agents', 'g a']);
    keys.handle(press('g'), false, 0);
    keys.handle(press('a'), false, 5_000);
    expect(ran).toEqual(['approve']);
  });

  it('do nothing in text fields and dialogs', () => {
    const { keys, ran } = set(['approve', 'a']);
    const input = document.createElement('input');
    const event = press('a');
    vi.spyOn(event, 'target', 'get').mockReturnValue(input);
    keys.handle(event, false);
    keys.handle(press('a'), true);
    expect(ran).toEqual([]);
  });

  it('do nothing while a dialog is open, and for a second after it has closed', () => {
    const { keys, ran } = set(['approve', 'a'], ['overview', 'g o'], ['palette', 'Control+k']);
    const close = keys.hold(() => 5_000);
    keys.handle(press('a'), false, 4_000);
    close();
    close();
    for (const at of [5_000, 5_500, 5_999]) keys.handle(press('a'), false, at);
    keys.handle(press('g'), false, 5_998);
    keys.handle(press('o'), false, 6_001);
    expect(ran).toEqual([]);
    keys.handle(press('k', { ctrlKey: true }), false, 5_500);
    keys.handle(press('a'), false, 6_000);
    expect(ran).toEqual(['palette', 'approve']);
  });

  it('stay held until the last of several dialogs has closed', () => {
    const { keys, ran } = set(['approve', 'a']);
    const first = keys.hold(() => 0);
    const second = keys.hold(() => 0);
    second();
    keys.handle(press('a'), false, 2_000);
    first();
    keys.handle(press('a'), false, 2_000);
    expect(ran).toEqual(['approve']);
  });

  it('match symbols on any keyboard layout', () => {
    const { keys, ran } = set(['help', '?'], ['next', ']']);
    keys.handle(press('?', { shiftKey: true }), false);
    keys.handle(press('?'), false);
    keys.handle(press(']', { ctrlKey: true }), false);
    expect(ran).toEqual(['help', 'help']);
  });

  it('can be disabled if they are single keys', () => {
    const { keys, ran } = set(['approve', 'a'], ['palette', 'Control+k']);
    keys.setSingles(false);
    keys.handle(press('a'), false);
    keys.handle(press('k', { ctrlKey: true }), false);
    expect(ran).toEqual(['palette']);
  });

  it('do nothing while their action is disabled', () => {
    const keys = new Keys();
    const run = vi.fn();
    keys.add(() => [
      { id: 'x', title: 'x', group: 'List', keys: ['x'], run, disabledReason: 'no' },
    ]);
    expect(keys.handle(press('x'), false)).toBe(true);
    expect(run).not.toHaveBeenCalled();
  });
});
