import { describe, expect, it } from 'vitest';
import { outlook, proposed, publishBar } from './publication';

const draft = { proposed_by: 'usr_sam', is_stale: false, publication: 'second_admin' } as const;
const sam = { id: 'usr_sam' };
const nora = { id: 'usr_nora' };

describe('draft', () => {
  it('is published by another admin if there is one', () => {
    expect(publishBar(draft, sam)).toMatch(/^You proposed this draft/);
    expect(publishBar(draft, nora)).toBeUndefined();
    expect(outlook(draft, nora)).toBe('It takes effect at once.');
  });

  it.each(['at_once', 'after_wait'] as const)('is published by its proposer: %s', (publication) => {
    expect(publishBar({ ...draft, publication }, sam)).toBeUndefined();
  });

  it('says when it takes effect', () => {
    expect(outlook({ ...draft, publication: 'at_once' }, sam)).toBe('It takes effect at once.');
    const waits = { ...draft, publication: 'after_wait' } as const;
    expect(outlook(waits, sam)).toMatch(/24 hours later unless someone objects/);
    expect(outlook(waits, nora), 'another account of an admin').toBe('It takes effect at once.');
  });

  it('is not published while it waits or is stale', () => {
    expect(publishBar({ ...draft, publication: 'waiting' }, nora)).toMatch(/pending change/);
    const stale = { ...draft, publication: 'at_once', is_stale: true } as const;
    expect(publishBar(stale, sam)).toMatch(/^Another version was published/);
  });

  it('names the next step after its proposal', () => {
    const named = { name: 'databases' };
    expect(proposed({ ...named, publication: 'second_admin' })).toMatch(/Another admin/);
    expect(proposed({ ...named, publication: 'after_wait' })).toMatch(/You can publish it/);
  });
});
