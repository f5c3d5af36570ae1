import { describe, expect, it } from 'vitest';
import { isProposed, openFor, type PendingChange, waits } from './pending';
import { mayObject, outcomeOf, publishBar, titleOf } from './words';

const names: Record<string, string> = { usr_bob: 'Bob Okafor', usr_sam: 'Sam Ortiz' };
const nameOf = (id: string) => names[id] ?? id;

const change = (more: Partial<PendingChange> = {}): PendingChange => ({
  id: 'chg_1',
  kind: 'user.roles',
  object: 'usr_bob',
  command: {},
  verdict: 'looser',
  findings: [{ verdict: 'looser', sentence: 'Bob Okafor gets the role reviewer' }],
  tasks: [],
  proposed_by: 'usr_sam',
  proposed_at: '2026-11-14T14:02:00Z',
  digest: 'sha256:0',
  next_action: { message: 'another admin must publish it' },
  ...more,
});

const later = { takes_effect_at: '2026-11-15T14:02:00Z' };

describe('pending change', () => {
  it('is recognized as an answer only while it is open', () => {
    expect(isProposed(change())).toBe(true);
    expect(isProposed(change({ outcome: null }))).toBe(true);
    expect(isProposed(change({ outcome: 'withdrawn' }))).toBe(false);
    const user = { id: 'usr_bob', name: 'Bob Okafor', roles: ['author'] };
    for (const other of [user, undefined, null, [], 'chg_1', { ...change(), id: 'pdr_1' }])
      expect(isProposed(other)).toBe(false);
  });

  it('waits for a second admin, or for its time', () => {
    expect(waits(change())).toBe('waits for a second admin');
    expect(waits(change({ takes_effect_at: null }))).toBe('waits for a second admin');
    const said = waits(change(later));
    expect(said).toMatch(/^takes effect 2026-11-1\d \d\d:\d\d unless someone objects$/);
  });

  it('is found by its kind and its object', () => {
    const delegation = change({ id: 'chg_2', kind: 'delegation.create' });
    const created = change({ id: 'chg_3', kind: 'user.create', object: 'Nia' });
    const all = [change(), delegation, created];
    expect(openFor(all, /^user\./, 'usr_bob')).toEqual([change()]);
    expect(openFor(all, /^delegation\./, 'usr_bob')).toEqual([delegation]);
    expect(openFor(all, /^user\.create$/)).toEqual([created]);
    expect(openFor(all, /^user\./, 'usr_sam')).toEqual([]);
  });

  it.each([
    [{}, 'Change the roles of Bob Okafor'],
    [{ kind: 'risk.settings', object: 'risk settings' }, 'Change the risk settings'],
    [{ kind: 'settings.flag', object: 'batch_approvals' }, 'Change the flag batch_approvals'],
    [{ kind: 'resource.import', object: '3 resources' }, 'Import 3 resources'],
    [{ kind: 'freeze.lift', object: 'frz_01m7h1amgre6ab12' }, 'Lift the freeze …ab12'],
    [{ kind: 'user.create', object: '$& {}' }, 'Add $& {}'],
    [{ kind: 'policy.publish', object: 'databases' }, 'Publish the policy databases'],
    [{ kind: 'moon.land', object: 'x' }, 'moon.land: x'],
  ])('has the title of %o', (more, title) => {
    expect(titleOf(change(more), nameOf)).toBe(title);
  });

  it('spells out hidden characters of a name in its title', () => {
    const title = titleOf(change({ kind: 'user.create', object: 'a\u202eb' }), nameOf);
    expect(title).not.toContain('\u202e');
  });

  it.each([
    ['published', 'Published by Sam Ortiz'],
    ['withdrawn', 'Withdrawn by Sam Ortiz'],
    ['objected', 'Stopped by an objection of Sam Ortiz'],
  ] as const)('names the person who closed it as %s', (outcome, said) => {
    expect(outcomeOf(change({ outcome, closed_by: 'usr_sam' }), nameOf)).toBe(said);
  });

  it('needs no person to take effect or to become outdated', () => {
    expect(outcomeOf(change({ outcome: 'applied' }), nameOf)).toBe('Took effect after its wait');
    expect(outcomeOf(change({ outcome: 'outdated' }), nameOf)).toMatch(/^Outdated/);
    expect(outcomeOf(change(), nameOf)).toBeUndefined();
  });

  it('is not published by its proposer', () => {
    expect(publishBar(change(), { id: 'usr_sam' })).toMatch(/^You proposed this change/);
    expect(publishBar(change(), { id: 'usr_bob' })).toBeUndefined();
  });

  it('admits objections of others while it waits for its time', () => {
    const bob = { id: 'usr_bob' };
    expect(mayObject(change(later), bob)).toBe(true);
    expect(mayObject(change(), bob)).toBe(false);
    expect(mayObject(change(later), { id: 'usr_sam' })).toBe(false);
  });
});
