import { describe, expect, it } from 'vitest';
import { actorOf, instantOf, localOf, objectName, phrase, phraseHere, targetOf } from './leaf';

const names: Record<string, string> = { usr_1: 'Priya Nair', agt_1: 'infra-bot' };
const nameOf = (id: string) => names[id] ?? id;

describe('A leaf of the audit', () => {
  it('names who did it, an agent before the person it acts for', () => {
    expect(actorOf({ kind: 'user', user: 'usr_1' }, nameOf)).toBe('Priya Nair');
    expect(actorOf({ kind: 'agent', agent: 'agt_1', on_behalf_of: 'usr_1' }, nameOf)).toBe(
      'infra-bot',
    );
    expect(actorOf({ kind: 'system', worker: 'review_opener' }, nameOf)).toBe('The server');
  });

  it('is a sentence around its object, and without it where the page is about it', () => {
    const opened = { what: { action: 'task.open_review' } };
    expect(phrase(opened)).toEqual(['opened the review of', '']);
    expect(phraseHere(opened)).toBe('opened the review');
    expect(phraseHere({ what: { action: 'task.submit' } })).toBe('handed it in');
    expect(phrase({ what: { action: 'flag.enable' } })).toEqual(['switched', 'on']);
  });

  it('tells an action nobody has a phrase for by its own name', () => {
    expect(phrase({ what: { action: 'moon.land' } })).toEqual(['did moon.land on', '']);
  });

  it('names objects, and knows the page of each', () => {
    expect(objectName('usr_1', nameOf)).toBe('Priya Nair');
    expect(objectName('task_01m7h1amgre6jt9hjhbbjpaj5d', nameOf)).toBe('task …aj5d');
    expect(objectName('pol_01m7wnbb version 1', nameOf)).toBe('policy …wnbb version 1');
    expect(objectName('database:shop', nameOf)).toBe('database:shop');
    expect(targetOf('task_x')).toEqual({ to: '/tasks/$id', id: 'task_x' });
    expect(targetOf('database:shop')).toEqual({ to: '/locks', resource: 'database:shop' });
    expect(targetOf('pol_1 version 2')).toEqual({ to: '/policies' });
    expect(targetOf('batch_approvals')).toBeUndefined();
  });

  it('reads times of a form in the zone of the reader, there and back', () => {
    expect(instantOf('')).toBeUndefined();
    expect(instantOf('not a time')).toBeUndefined();
    const instant = instantOf('2026-11-14T09:30')!;
    expect(localOf(instant)).toBe('2026-11-14T09:30');
  });
});
