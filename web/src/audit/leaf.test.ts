import { describe, expect, it } from 'vitest';
import {
  actorOf,
  credentialOf,
  instantOf,
  isRefused,
  localOf,
  namesObject,
  namesTask,
  objectName,
  phrase,
  phraseHere,
  targetOf,
  tokenNote,
} from './leaf';

const names: Record<string, string> = { usr_1: 'Priya Nair', agt_1: 'infra-bot' };
const nameOf = (id: string) => names[id] ?? id;

describe('audit entry', () => {
  it('names the actor, an agent before its owner', () => {
    expect(actorOf({ kind: 'user', user: 'usr_1' }, nameOf)).toBe('Priya Nair');
    expect(actorOf({ kind: 'agent', agent: 'agt_1', on_behalf_of: 'usr_1' }, nameOf)).toBe(
      'infra-bot',
    );
    expect(actorOf({ kind: 'system', worker: 'review_opener' }, nameOf)).toBe('The server');
  });

  it('names the credential, and the issuer of a token if it is another person', () => {
    const token = (issuer: string) =>
      ({ kind: 'token', key_id: 'k1', issued_by: issuer, step_up: null }) as const;
    const own = { kind: 'user', user: 'usr_1', credential: token('usr_1') };
    expect(credentialOf(own, nameOf)).toBe('Token k1, issued by Priya Nair');
    expect(tokenNote(own, nameOf)).toBe(undefined);
    expect(tokenNote({ ...own, credential: token('usr_2') }, nameOf)).toBe(
      'with a token issued by usr_2',
    );
    const agent = { kind: 'agent', agent: 'agt_1', on_behalf_of: 'usr_1' };
    expect(tokenNote({ ...agent, credential: token('usr_1') }, nameOf)).toBe(undefined);
    expect(tokenNote({ ...agent, credential: token('usr_2') }, nameOf)).toContain('usr_2');
    const session = { kind: 'session', key_id: 'k2', issued_by: null } as const;
    expect(credentialOf({ ...own, credential: session }, nameOf)).toBe('Browser session k2');
    expect(tokenNote({ ...own, credential: session }, nameOf)).toBe(undefined);
    expect(credentialOf({ kind: 'system', worker: 'expirer' }, nameOf)).toBe(undefined);
  });

  it('is a sentence with the object, or without it on its own page', () => {
    const opened = { what: { action: 'task.open_review' } };
    expect(phrase(opened)).toEqual(['opened the review of', '']);
    expect(phraseHere(opened)).toBe('opened the review');
    expect(phraseHere({ what: { action: 'task.submit' } })).toBe('submitted it');
    expect(phrase({ what: { action: 'task.auto_approve' } })).toEqual([
      'approved',
      'automatically',
    ]);
  });

  it('describes a refused attempt as not allowed', () => {
    const refused = (action: string, object: string) =>
      phrase({ kind: 'refusal', what: { action, object } });
    expect(refused('freeze.set', 'ten_1')).toEqual(['was not allowed to freeze applies', '']);
    expect(refused('task.approve', 'task_1')).toEqual(['was not allowed to approve', '']);
    expect(refused('task.auto_approve', 'x')).toEqual([
      'was not allowed to approve',
      'automatically',
    ]);
    expect(refused('webhook.read', 'ten_1')).toEqual(['was not allowed to read webhooks', '']);
    expect(refused('moon.land', 'x')).toEqual(['was not allowed to perform moon.land on', '']);
    const approve = {
      kind: 'refusal',
      what: { action: 'task.approve', object: 'task_1' },
    } as const;
    expect(phraseHere(approve)).toBe('was not allowed to approve it');
    expect(isRefused(approve)).toBe(true);
    expect(isRefused({ what: { action: 'task.approve' } })).toBe(false);
    const general = { kind: 'refusal', what: { action: 'webhook.read', object: 'ten_1' } } as const;
    expect(namesObject(general)).toBe(false);
  });

  it('describes the steps of a pending change', () => {
    const did = (action: string, more: object = {}) => phrase({ what: { action }, ...more });
    expect(did('change.propose')).toEqual(['proposed', '']);
    expect(did('change.object')).toEqual(['objected to', '']);
    expect(did('change.apply')).toEqual(['applied', 'after its wait']);
    expect(did('change.outdate')).toEqual(['closed', 'as outdated']);
    expect(did('change.publish', { kind: 'refusal' })).toEqual(['was not allowed to publish', '']);
    const ended = { what: { action: 'tenant.end_setup', object: 'ten_1' } };
    expect(phrase(ended)).toEqual(['ended the setup of the tenant', '']);
    expect(namesObject(ended)).toBe(false);
  });

  it('shows an action without a phrase by its name', () => {
    expect(phrase({ what: { action: 'moon.land' } })).toEqual(['performed moon.land on', '']);
  });

  it('names objects and links their pages', () => {
    expect(objectName('usr_1', nameOf)).toBe('Priya Nair');
    expect(objectName('task_01m7h1amgre6jt9hjhbbjpaj5d', nameOf)).toBe('task …aj5d');
    expect(objectName('pol_01m7wnbb version 1', nameOf)).toBe('policy …wnbb version 1');
    expect(objectName('database:shop', nameOf)).toBe('database:shop');
    expect(targetOf('task_x')).toEqual({ to: '/tasks/$id', id: 'task_x' });
    expect(targetOf('database:shop')).toEqual({ to: '/locks', resource: 'database:shop' });
    expect(targetOf('pol_1 version 2')).toEqual({ to: '/policies' });
    expect(objectName('chg_01m7wnbb', nameOf)).toBe('change …wnbb');
    expect(targetOf('chg_1')).toEqual({ to: '/changes' });
    expect(targetOf('batch_approvals')).toBeUndefined();
  });

  it('recognizes a task by its id or its number', () => {
    for (const task of ['task_x', 'T-8', 't-8', '8']) expect(namesTask(task)).toBe(true);
    for (const other of ['usr_1', 'database:8', 'T-', '0', '8a']) {
      expect(namesTask(other)).toBe(false);
    }
  });

  it('converts form times in the time zone of the reader', () => {
    expect(instantOf('')).toBeUndefined();
    expect(instantOf('not a time')).toBeUndefined();
    const instant = instantOf('2026-11-14T09:30')!;
    expect(localOf(instant)).toBe('2026-11-14T09:30');
  });
});
