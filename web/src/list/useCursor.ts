import { useState } from 'react';
import type { Action } from '@/keys/registry';
import type { Keyed } from './List';

export interface Cursor<Row> {
  readonly index: number;
  readonly row: Row | undefined;
  readonly move: (index: number) => void;
}

/** Row under the keyboard cursor. The cursor follows its row; if the row is gone, it keeps the
 *  position. */
export function useCursor<Row extends Keyed>(rows: readonly Row[], initial?: string): Cursor<Row> {
  const [at, setAt] = useState<{ key: string | undefined; index: number }>({
    key: initial,
    index: 0,
  });
  const found = rows.findIndex(({ key }) => key === at.key);
  const index = found >= 0 ? found : Math.min(at.index, rows.length - 1);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setAt({ key: rows[next]?.key, index: next });
  };
  return { index, row: rows[index], move };
}

const PAGE_STEP = 10;

export function moves<Row>(
  rows: readonly Row[],
  cursor: Cursor<Row>,
  open: (row: Row) => void,
): Action[] {
  const { index, row, move } = cursor;
  const more = { group: 'List', isLocal: true, isRepeated: true } as const;
  return [
    {
      id: 'down',
      title: 'Next row',
      keys: ['j', 'ArrowDown'],
      run: () => move(index + 1),
      ...more,
    },
    {
      id: 'up',
      title: 'Previous row',
      keys: ['k', 'ArrowUp'],
      run: () => move(index - 1),
      ...more,
    },
    {
      id: 'page-down',
      title: 'Ten rows down',
      keys: ['PageDown'],
      run: () => move(index + PAGE_STEP),
      ...more,
    },
    {
      id: 'page-up',
      title: 'Ten rows up',
      keys: ['PageUp'],
      run: () => move(index - PAGE_STEP),
      ...more,
    },
    { id: 'first', title: 'First row', keys: ['Home'], run: () => move(0), ...more },
    { id: 'last', title: 'Last row', keys: ['End'], run: () => move(rows.length - 1), ...more },
    {
      id: 'open',
      title: 'Open',
      keys: ['Enter', 'o'],
      group: 'List',
      isLocal: true,
      run: () => row && open(row),
    },
  ];
}
