import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { useNames } from '@/api/names';
import type { State } from '@/api/queries';
import { useTaskList } from '@/inbox/data';
import { filtered } from '@/inbox/filter';
import type { Row } from '@/inbox/rows';
import { useFrozenList } from '@/inbox/useFrozenList';
import { useActions } from '@/keys/react';
import {
  AgeCell,
  RiskCell,
  STATE_COLUMNS,
  STATE_TEMPLATE,
  StateCell,
  TitleCell,
} from '@/list/Cells';
import { FilterField } from '@/list/FilterField';
import { List } from '@/list/List';
import { Skeleton } from '@/list/Skeleton';
import { Empty, FreshStrip, StaleStrip } from '@/list/Strips';
import { moves, useCursor } from '@/list/useCursor';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Select } from '@/ui/Field';
import { STATES, stateWord } from '@/ui/StateChip';
import { Trouble } from '@/ui/Trouble';

const route = getRouteApi('/tasks/');

const CHOICES = [
  ['', 'All states'],
  ...STATES.map((state) => [state, stateWord(state)] as const),
] as const;

/** All tasks of the tenant that the reader can see. */
export function TasksPage() {
  const { state, q = '' } = route.useSearch();
  const navigate = useNavigate();
  const nameOf = useNames();
  const list = useTaskList(state);
  const kept = useFrozenList(list.rows, list.isFilling, state ?? 'all');
  const rows = useMemo(() => filtered(kept.rows, q, nameOf), [kept.rows, q, nameOf]);
  const cursor = useCursor(rows);
  const drawn = useCallback(
    (row: Row) => (
      <>
        <RiskCell row={row} />
        <TitleCell row={row} by={nameOf(row.author)} />
        <StateCell row={row} />
        <AgeCell row={row} />
      </>
    ),
    [nameOf],
  );
  useTitle('Tasks');
  const open = (one: Row) =>
    void navigate({ to: '/tasks/$id', params: { id: one.task }, search: {} });
  const setQuery = useCallback(
    (next: string) =>
      void navigate({
        to: '/tasks',
        search: (old) => ({ ...old, q: next || undefined }),
        replace: true,
      }),
    [navigate],
  );
  const setState = (next: State | '') =>
    void navigate({ to: '/tasks', search: { state: next || undefined, q: q || undefined } });
  useActions([
    ...moves(rows, cursor, open),
    {
      id: 'fresh',
      title: 'Show new rows',
      group: 'List',
      keys: ['.'],
      isLocal: true,
      run: kept.show,
    },
  ]);
  return (
    <section aria-label="Tasks" className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3 max-md:px-4">
        <h1 className="text-h1 font-semibold">Tasks</h1>
        <Select aria-label="State" value={state ?? ''} choices={CHOICES} onChange={setState} />
        <div className="flex-1 max-md:hidden" />
        <FilterField value={q} onChange={setQuery} />
      </div>
      {Boolean(list.error) && list.rows.length > 0 && (
        <StaleStrip readAt={list.readAt} onRetry={list.refetch} />
      )}
      <FreshStrip count={kept.fresh.length} onShow={kept.show} />
      {list.isLoading ? (
        list.error ? (
          <Trouble error={list.error} onRetry={list.refetch} />
        ) : (
          <Skeleton />
        )
      ) : rows.length === 0 ? (
        <Empty title={q || state ? 'No matching tasks' : 'No tasks yet'}>
          {q || state ? (
            <Button onClick={() => void navigate({ to: '/tasks', search: {} })}>
              Clear filter
            </Button>
          ) : (
            'Tasks proposed by agents and people appear here.'
          )}
        </Empty>
      ) : (
        <List
          rows={rows}
          cursor={cursor.index}
          onCursor={cursor.move}
          onOpen={open}
          label="All tasks"
          columns={STATE_COLUMNS}
          template={STATE_TEMPLATE}
          gone={kept.gone}
          isPartial={list.isPartial}
        >
          {drawn}
        </List>
      )}
    </section>
  );
}
