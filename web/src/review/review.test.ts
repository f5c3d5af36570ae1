import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, Effect, Vote } from '@/api/queries';
import { diff, folded } from './diff';
import {
  contentOf,
  countsOf,
  factsOf,
  gravest,
  linesOf,
  operationOf,
  programOf,
  shortDigest,
  titleOf,
  valueLines,
} from './effect';
import { voters } from './quorum';

const counts = (removes: number, changes: number, adds: number) => ({
  counts: { removes, changes, adds, irreversible: 0 },
});
const change = (action: Change['action'], irreversible = false): Change => ({
  action,
  irreversible,
  resource: 'database:shop',
  summary: `${action} it`,
});

describe('effect', () => {
  it('names removals before additions', () => {
    expect(countsOf(counts(1, 2, 3))).toBe('1 removed, 2 changed, 3 added');
    expect(countsOf(counts(0, 0, 2))).toBe('2 added');
    expect(countsOf(counts(0, 0, 0))).toBe('no changes');
  });

  const drop: Change = { ...change('remove', true), summary: 'drop table public.invoice_2019' };
  const task = (effect: Partial<Effect>) => ({
    type: 'sql.change',
    resources: [{ resource: 'database:shop' }],
    effect: {
      ...counts(0, 0, 0),
      origin: 'observed',
      changes: [],
      errors: [],
      ...effect,
    } as Effect,
  });

  it('is named by its worst observed change', () => {
    const shown = task({ changes: [change('add'), drop, change('change')] });
    const text = 'Drop table public.invoice_2019';
    expect(operationOf(shown)).toEqual({ text, isType: false, others: 2 });
    expect(titleOf(shown)).toBe(text);
    expect(operationOf(task({})).text).toBe('Changes nothing');
  });

  it.each([{ origin: 'declared' }, { errors: ['syntax error'] }] as const)(
    'is named by the type of the task if nothing was observed: %o',
    (more) => {
      const shown = task({ changes: [drop], ...(more as Partial<Effect>) });
      expect(operationOf(shown)).toEqual({ text: 'sql.change', isType: true, others: 0 });
      expect(titleOf(shown)).toBe('Run sql.change on database:shop');
    },
  );

  it('states rows, size and dependents as far as they are known', () => {
    const before = { rows: 812, size_bytes: 98_304, dependents: ['a', 'b'], note: 'x' };
    expect(factsOf({ before })).toEqual(['812 rows', '98,304 bytes', '2 dependents']);
    expect(factsOf({ before: 'a table', after: { toString: 1 } })).toEqual([]);
    expect(factsOf({ rows: { count: 1_200, percent: 5 } })).toEqual([
      '1,200 rows, up to 5 % of the table',
    ]);
    expect(factsOf({ rows: {} })).toEqual([
      'an unknown number of rows, an unknown share of the table',
    ]);
  });

  it('shows each value, also null and a number of rows', () => {
    expect(valueLines({ rows: 1000 })).toEqual(['1000 rows']);
    expect(valueLines({ rows: 1000, of: 'x' })).toHaveLength(4);
    expect([valueLines(null), valueLines(undefined), valueLines('')]).toEqual([['null'], [], ['']]);
  });

  it('lists irreversible changes first', () => {
    const order = gravest([change('add'), change('remove'), change('change', true)]);
    expect(order.map(({ action }) => action)).toEqual(['change', 'remove', 'add']);
  });

  it('lists a table before its columns', () => {
    const drop = (summary: string): Change => ({ ...change('remove', true), summary });
    const order = gravest([
      drop('drop column public.invoice.id'),
      drop('drop table public.invoice'),
    ]);
    expect(order[0]?.summary).toBe('drop table public.invoice');
  });

  it('formats values independent of key order', () => {
    expect(linesOf({ b: 1, a: { d: 1, c: 2 } })).toEqual(linesOf({ a: { c: 2, d: 1 }, b: 1 }));
    expect(linesOf('one\r\ntwo')).toEqual(['one', 'two']);
    expect(linesOf(undefined)).toEqual([]);
  });

  it('puts each statement on its own line', () => {
    expect(programOf({ target: 'shop', sql: 'SELECT 1; DROP TABLE x' })).toEqual([
      'sql:',
      '  SELECT 1;',
      '  DROP TABLE x',
      'target: shop',
    ]);
  });

  it('keeps every character but plain spaces between statements', () => {
    expect(programOf({ sql: 'A;\u2028B; C' })).toEqual(['sql:', '  A;\u2028B;', '  C']);
    expect(programOf({ 'a: b\nsql': 'x', '│': 'y' })).toEqual(['"a: b\\nsql": x', '"│": y']);
  });

  it('includes all approved content in the lines of a revision', () => {
    const effect = {
      ...counts(1, 0, 0),
      origin: 'observed' as const,
      warnings: [],
      errors: [],
      changes: [{ ...change('remove', true), before: 'a column' }],
    };
    const lines = contentOf({
      effect,
      parameters: { n: 1 },
      resources: [{ resource: 'database:shop' }],
    });
    expect(lines.join('\n')).toMatch(
      /database:shop[\s\S]*remove it \(irreversible\)[\s\S]*a column[\s\S]*n: 1/,
    );
  });

  it('shortens digests at both ends', () => {
    expect(shortDigest('sha256:9f1c000044ab')).toBe('9f1c…44ab');
  });
});

describe('a difference', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'drop table x', 'drop table y'), {
    maxLength: 30,
  });

  it('contains both sides completely and in order', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diff(before, after);
        const side = (skip: 'add' | 'del') =>
          lines.filter(({ kind }) => kind !== skip).map((line) => line.text);
        expect(side('add')).toEqual(before);
        expect(side('del')).toEqual(after);
      }),
    );
  });

  it('marks changed words', () => {
    const [del, add] = diff(['DROP COLUMN old'], ['DROP COLUMN new']);
    const changed = (line: typeof del) =>
      line?.words?.filter((word) => word.isChanged).map((word) => word.text);
    expect([changed(del), changed(add)]).toEqual([['old'], ['new']]);
  });

  it('folds only unchanged lines and loses none', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diff(before, after);
        const shown = folded(lines);
        const count = shown.reduce((sum, line) => sum + (line.kind === 'fold' ? line.count : 1), 0);
        expect(count).toBe(lines.length);
        const kept = shown.filter((line) => line.kind === 'add' || line.kind === 'del').length;
        expect(kept).toBe(lines.filter(({ kind }) => kind !== 'same').length);
      }),
    );
  });

  it('compares five thousand lines quickly', () => {
    const before = Array.from({ length: 5_000 }, (_, index) => `line ${index}`);
    const after = before.map((line, index) => (index % 500 === 0 ? `${line}!` : line));
    const times = [1, 2, 3].map(() => {
      const began = performance.now();
      expect(folded(diff(before, after)).length).toBeLessThan(200);
      return performance.now() - began;
    });
    expect(Math.min(...times)).toBeLessThan(1_000);
  });

  it('compares very different texts line by line', () => {
    const before = Array.from({ length: 5_000 }, (_, index) => `line ${index}`);
    const after = before.map((line, index) => (index % 5 === 0 ? line : `${line}!`));
    after.push('one more');
    const lines = diff(before, after);
    const side = (skip: 'add' | 'del') =>
      lines.filter(({ kind }) => kind !== skip).map((line) => line.text);
    expect(side('add')).toEqual(before);
    expect(side('del')).toEqual(after);
    expect(lines.filter(({ kind }) => kind === 'same').length).toBe(1_000);
  });
});

describe('quorum', () => {
  const vote = (voter: string, more: Partial<Vote> = {}): Vote => ({
    voter_id: voter,
    answer: 'approve',
    revision: 2,
    digest: 'sha256:b',
    at: '',
    counted: true,
    withdrawn: false,
    ...more,
  });
  const may = (user: string, ...forUsers: string[]) => ({
    user_id: user,
    for_user_ids: [user, ...forUsers],
    because: [],
  });
  const signs = (votes: Vote[]) =>
    voters(votes, [may('lena'), may('me', 'marc')], 'sha256:b', 'me').map(
      ({ user, sign }) => `${user} ${sign}`,
    );

  it('sorts votes, the reader, other reviewers, then stale votes', () => {
    const old = vote('tom', { digest: 'sha256:a', revision: 1 });
    expect(signs([old, vote('priya')])).toEqual([
      'priya approved',
      'me you',
      'lena may',
      'tom stale',
    ]);
  });

  it('ignores withdrawn and late votes', () => {
    expect(signs([vote('lena', { withdrawn: true })])).toEqual(['me you', 'lena may']);
    expect(signs([vote('lena', { counted: false })])).toEqual(['lena late', 'me you']);
  });

  it('names the users for whom the reader votes', () => {
    expect(voters([], [may('me', 'marc')], 'sha256:b', 'me')[0]?.forUsers).toEqual(['me', 'marc']);
  });
});
