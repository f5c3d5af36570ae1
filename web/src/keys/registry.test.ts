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
  it('run what they are bound to, whatever the case', () => {
    const { keys, ran } = set(['approve', 'a']);
    keys.handle(press('a'), false);
    keys.handle(press('A'), false);
    expect(ran).toEqual(['approve', 'approve']);
  });

  it('in a sequence mean nothing else', () => {
    const { keys, ran } = set(['approve', 'a'], ['agents', 'g a']);
    keys.handle(press('g'), false);
    keys.handle(press('a'), false);
    expect(ran).toEqual(['agents']);
    keys.handle(press('a'), false);
    expect(ran).toEqual(['agents', 'approve']);
  });

  it('after a sequence that leads nowhere act on nothing', () => {
    const { keys, ran } = set(['approve', 'a'], ['inbox', 'g i']);
    keys.handle(press('g'), false, 0);
    keys.handle(press('a'), false, 10);
    expect(ran).toEqual([]);
  });

  it('forget a sequence that was not finished in time', () => {
    const { keys, ran } = set(['approve', 'a'], ['agents', 'g a']);
    keys.handle(press('g'), false, 0);
    keys.handle(press('a'), false, 5_000);
    expect(ran).toEqual(['approve']);
  });

  it('leave text fields and dialogs alone', () => {
    const { keys, ran } = set(['approve', 'a']);
    const input = document.createElement('input');
    const event = press('a');
    vi.spyOn(event, 'target', 'get').mockReturnValue(input);
    keys.handle(event, false);
    keys.handle(press('a'), true);
    expect(ran).toEqual([]);
  });

  it('that are signs need no certain way to be typed', () => {
    const { keys, ran } = set(['help', '?'], ['next', ']']);
    keys.handle(press('?', { shiftKey: true }), false);
    keys.handle(press('?'), false);
    keys.handle(press(']', { ctrlKey: true }), false);
    expect(ran).toEqual(['help', 'help']);
  });

  it('can be switched off if they are single', () => {
    const { keys, ran } = set(['approve', 'a'], ['palette', 'Control+k']);
    keys.setSingles(false);
    keys.handle(press('a'), false);
    keys.handle(press('k', { ctrlKey: true }), false);
    expect(ran).toEqual(['palette']);
  });

  it('do nothing while their action is barred', () => {
    const keys = new Keys();
    const run = vi.fn();
    keys.add(() => [{ id: 'x', title: 'x', group: 'List', keys: ['x'], run, barred: 'no' }]);
    expect(keys.handle(press('x'), false)).toBe(true);
    expect(run).not.toHaveBeenCalled();
  });
});
