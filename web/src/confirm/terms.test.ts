import { expect, it } from 'vitest';
import { meaningOf } from './terms';

it.each([
  ['scope:decide', 'Approve and reject tasks'],
  ['lifetime:28800s', 'Valid for 8 hours'],
  ['lifetime:86400s', 'Valid for 24 hours'],
  ['lifetime:2592000s', 'Valid for 30 days'],
  ['network:2001:db8::/32', 'Only from this network'],
  ['terminal:BCDF-GHJK', 'The code that your terminal shows'],
  ['label', 'The description, by its digest'],
])('explains %s', (term, meaning) => {
  expect(meaningOf(term)).toBe(meaning);
});

it('explains nothing but terms of a token', () => {
  for (const id of ['scope:everything', 'database:orders', 'pdr_1', 'constructor'])
    expect(meaningOf(id)).toBeUndefined();
});
