import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filtered, terms } from './filter';
import { inOrder, keep, type Row } from './rows';

const row = (key: string, more: Partial<Row> = {}): Row => ({
  key,
  approval: key,
  task: `task_${key}`,
  number: 1,
  title: key,
  type: 'sql.change',
  level: 'low',
  score: 10,
  state: 'REVIEWING',
  detail: null,
  revision: 1,
  author: 'usr_1',
  dueAt: '2026-01-01',
  since: '2026-01-01',
  isOverdue: false,
  isForOthers: false,
  place: 0,
  answer: 'PENDING',
  ...more,
});
const keysOf = (rows: readonly Row[]) => rows.map(({ key }) => key);

describe('keeping', () => {
  it('never moves visible rows and loses no new row', () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 20 });
    fc.assert(
      fc.property(names, names, (before, after) => {
        const kept = keep(
          before.map((key) => row(key)),
          after.map((key) => row(key)),
        );
        expect(keysOf(kept.rows)).toEqual(before);
        expect(new Set([...keysOf(kept.rows), ...keysOf(kept.fresh)])).toEqual(
          new Set([...before, ...after]),
        );
        expect(kept.gone).toEqual(new Set(before.filter((key) => !after.includes(key))));
      }),
    );
  });

  it('updates a row in place', () => {
    const kept = keep([row('a'), row('b')], [row('b'), row('a', { title: 'new' })]);
    expect(kept.rows.map(({ title }) => title)).toEqual(['new', 'b']);
  });
});

describe('order', () => {
  it('sorts overdue rows first, then by rank', () => {
    const rows = [row('a', { place: 5 }), row('b', { place: 9 }), row('c', { isOverdue: true })];
    expect(keysOf([...rows].sort(inOrder))).toEqual(['c', 'b', 'a']);
  });

  it('does not depend on the order of arrival', () => {
    const any = fc.record({ place: fc.nat(3), isOverdue: fc.boolean() });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 12 }), (made) => {
        const rows = made.map((more, index) => row(String(index), more));
        expect(keysOf([...rows].reverse().sort(inOrder))).toEqual(keysOf([...rows].sort(inOrder)));
      }),
    );
  });
});

describe('filter', () => {
  const rows = [
    row('a', { score: 78, level: 'high', title: 'Drop the table', number: 7 }),
    row('b', { score: 12, type: 'deploy.site', title: 'Publish docs', isOverdue: true }),
  ];
  const found = (query: string) => keysOf(filtered(rows, query, () => 'Priya Nair'));

  it.each([
    ['', ['a', 'b']],
    ['risk:>60', ['a']],
    ['risk:<=12', ['b']],
    ['level:high', ['a']],
    ['type:sql.*', ['a']],
    ['type:deploy.site', ['b']],
    ['overdue', ['b']],
    ['drop table', ['a']],
    ['t-7', ['a']],
    ['by:priya', ['a', 'b']],
    ['by:unknown', []],
    ['risk:>60 docs', []],
    ['state:reviewing', ['a', 'b']],
    ['type:*change', ['a']],
    ['type:s*l*e', ['a']],
  ])('%j finds %j', (query, keys) => expect(found(query)).toEqual(keys));

  it('reports invalid terms instead of showing everything', () => {
    expect(terms('risk:much')[0]?.fault).toBeDefined();
    expect(found('risk:much')).toEqual([]);
  });
});
