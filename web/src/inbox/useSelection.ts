import { useState } from 'react';
import type { Action } from '@/keys/registry';
import type { Cursor } from '@/list/useCursor';
import type { Row } from './rows';

/** Maximum size of a batch. */
export const SELECTED_MAX = 200;

export interface Selection {
  readonly keys: ReadonlySet<string>;
  readonly rows: readonly Row[];
  readonly all: () => void;
  readonly clear: () => void;
  readonly actions: (cursor: Cursor<Row>) => Action[];
}

/** Only visible rows can be selected: a filter never hides part of a batch. */
export function useSelection(rows: readonly Row[], at: number): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = chosen.size === 0 ? [] : rows.filter(({ key }) => chosen.has(key));
  const keys = new Set(selected.map(({ key }) => key));
  const add = (...more: (Row | undefined)[]) => {
    const next = new Set(keys);
    for (const row of more) if (row && next.size < SELECTED_MAX) next.add(row.key);
    setChosen(next);
  };
  const toggle = () => {
    const row = rows[at];
    if (!row) return;
    const next = new Set(keys);
    if (!next.delete(row.key) && next.size < SELECTED_MAX) next.add(row.key);
    setChosen(next);
  };
  const extend = (cursor: Cursor<Row>, step: 1 | -1) => () => {
    add(rows[cursor.index], rows[cursor.index + step]);
    cursor.move(cursor.index + step);
  };
  const all = () => setChosen(new Set(rows.slice(0, SELECTED_MAX).map(({ key }) => key)));
  const clear = () => setChosen(new Set());
  const more = { group: 'List', isLocal: true } as const;
  const actions = (cursor: Cursor<Row>): Action[] => [
    { id: 'select', title: 'Select row', keys: ['x'], run: toggle, ...more },
    {
      id: 'extend-down',
      title: 'Extend selection down',
      keys: ['Shift+j'],
      run: extend(cursor, 1),
      isRepeated: true,
      ...more,
    },
    {
      id: 'extend-up',
      title: 'Extend selection up',
      keys: ['Shift+k'],
      run: extend(cursor, -1),
      isRepeated: true,
      ...more,
    },
    { id: 'all', title: 'Select all rows', keys: ['$mod+a'], run: all, ...more },
    ...(keys.size > 0
      ? [{ id: 'clear', title: 'Clear selection', keys: ['Escape'], run: clear, ...more }]
      : []),
  ];
  return { keys, rows: selected, all, clear, actions };
}
