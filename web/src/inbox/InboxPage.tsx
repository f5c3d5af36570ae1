import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import { useNames } from '@/api/names';
import { approvalsQuery, riskQuery, taskQuery } from '@/api/queries';
import { isWeighty, reviewFirst } from '@/decide/useArmed';
import { KeysHeld, useActions } from '@/keys/react';
import type { Action } from '@/keys/registry';
import {
  AgeCell,
  DueCell,
  NEEDS_COLUMNS,
  NEEDS_TEMPLATE,
  QuorumCell,
  RiskCell,
  STATE_COLUMNS,
  STATE_TEMPLATE,
  StateCell,
  TitleCell,
} from '@/list/Cells';
import { FilterField } from '@/list/FilterField';
import { List } from '@/list/List';
import { Skeleton } from '@/list/Skeleton';
import { FreshStrip, StaleStrip } from '@/list/Strips';
import { moves, useCursor } from '@/list/useCursor';
import { useHold } from '@/live/react';
import { useTitle } from '@/shell/useTitle';
import { Trouble } from '@/ui/Trouble';
import { useIsWide } from '@/ui/useIsPhone';
import { BatchBar } from '@/batch/BatchBar';
import { type Tab, useDone, useNeeds, useTaskList } from './data';
import { filtered } from './filter';
import { NoRows } from './NoRows';
import { Peek, usePeek } from './Peek';
import type { Row } from './rows';
import { Tabs } from './Tabs';
import { useFrozenList } from './useFrozenList';
import { useSelection } from './useSelection';

const BatchDrawer = lazy(() => import('@/batch/BatchDrawer'));
const route = getRouteApi('/inbox');

/** Prefetches the two rows after the cursor, so that `j` shows them at once. */
function usePrefetch(rows: readonly Row[], index: number, isOn: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setTimeout(() => {
      for (const row of rows.slice(index + 1, index + 3)) {
        void client.prefetchQuery(taskQuery(row.task));
        void client.prefetchQuery(approvalsQuery(row.task));
        void client.prefetchQuery(riskQuery(row.task));
      }
    }, 150);
    return () => clearTimeout(timer);
  }, [client, rows, index, isOn]);
}

function useRows(tab: Tab) {
  const needs = useNeeds();
  const watching = useTaskList('REVIEWING', tab === 'watching');
  const done = useDone(tab === 'done');
  const others = useMemo(() => {
    const asked = new Set(needs.rows.map(({ task }) => task));
    return watching.rows.filter(({ task }) => !asked.has(task));
  }, [needs.rows, watching.rows]);
  if (tab === 'needs') return needs;
  return tab === 'done' ? done : { ...watching, rows: others };
}

export function InboxPage() {
  const { tab = 'needs', q = '' } = route.useSearch();
  const navigate = useNavigate();
  const isWide = useIsWide();
  const nameOf = useNames();
  const list = useRows(tab);
  const kept = useFrozenList(list.rows, list.isFilling, tab);
  const rows = useMemo(() => filtered(kept.rows, q, nameOf), [kept.rows, q, nameOf]);
  const cursor = useCursor(rows);
  const isNeeds = tab === 'needs';
  const { gone } = kept;
  const drawn = useCallback(
    (one: Row) => (
      <>
        <RiskCell row={one} />
        <TitleCell row={one} by={nameOf(one.author)} />
        {isNeeds ? <QuorumCell row={one} isGone={gone.has(one.key)} /> : <StateCell row={one} />}
        {isNeeds && <DueCell row={one} />}
        <AgeCell row={one} />
      </>
    ),
    [isNeeds, nameOf, gone],
  );
  const [isPeeking, setPeeking] = useState(true);
  const selection = useSelection(rows, cursor.index);
  const [batch, setBatch] = useState<'approve' | 'reject'>();
  const isPeekOn = isPeeking && isWide && tab !== 'done';
  const row = cursor.row;
  const peeked = usePeek(isPeekOn ? row?.task : undefined);
  usePrefetch(rows, cursor.index, isPeekOn);
  const isSelecting = selection.keys.size > 0;
  useHold('selection', isSelecting);
  const count = rows.length - rows.filter(({ key }) => gone.has(key)).length;
  useTitle(tab === 'needs' && count > 0 ? `Inbox (${count})` : 'Inbox');

  const open = (one: Row) =>
    void navigate({ to: '/tasks/$id', params: { id: one.task }, search: {} });
  const setQuery = useCallback(
    (next: string) =>
      void navigate({
        to: '/inbox',
        search: (old) => ({ ...old, q: next || undefined }),
        replace: true,
      }),
    [navigate],
  );
  const setTab = (next: Tab) =>
    void navigate({
      to: '/inbox',
      search: { tab: next === 'needs' ? undefined : next, q: q || undefined },
    });

  /** Only what is on screen can be decided: the first press shows it. */
  const answer = (what: 'reject' | 'request_changes') => () => {
    if (!row) return;
    if (!isWide) open(row);
    else if (!isPeekOn) setPeeking(true);
    else if (peeked.task?.id === row.task && peeked.decisionState.kind === 'decide')
      peeked.decision.ask(what);
  };
  const approve = () => {
    if (!row) return;
    const { task, decisionState } = peeked;
    const isShown = task?.id === row.task && decisionState.kind === 'decide';
    if (!isWide || isWeighty(row.level) || (isShown && reviewFirst(task))) open(row);
    else if (!isPeekOn) setPeeking(true);
    else if (isShown) peeked.armed.press();
  };
  const link = () =>
    row && void navigator.clipboard.writeText(`${location.origin}/tasks/${row.task}`);
  const listActions: Action[] = [
    ...moves(rows, cursor, open),
    {
      id: 'fresh',
      title: 'Show new rows',
      group: 'List',
      keys: ['.'],
      isLocal: true,
      run: kept.show,
    },
    {
      id: 'peek',
      title: 'Show or hide preview',
      group: 'List',
      keys: ['Space'],
      isLocal: true,
      run: () => setPeeking(!isPeeking),
    },
    { id: 'copy', title: 'Copy link', group: 'List', keys: ['y'], isLocal: true, run: link },
  ];
  const disarm: Action = {
    id: 'disarm',
    title: 'Do not approve',
    group: 'List',
    keys: ['Escape'],
    isLocal: true,
    run: peeked.armed.disarm,
  };
  const selecting = isSelecting ? 'Clear the selection to decide on one task.' : undefined;
  const answers: Action[] = [
    {
      id: 'approve',
      title: 'Approve',
      group: 'List',
      keys: ['a'],
      isLocal: true,
      disabledReason: selecting,
      run: approve,
    },
    {
      id: 'reject',
      title: 'Reject',
      group: 'List',
      keys: ['r'],
      isLocal: true,
      disabledReason: selecting,
      run: answer('reject'),
    },
    {
      id: 'changes',
      title: 'Request changes',
      group: 'List',
      keys: ['c'],
      isLocal: true,
      disabledReason: selecting,
      run: answer('request_changes'),
    },
    ...(peeked.armed.isArmed ? [disarm] : []),
    ...selection.actions(cursor),
  ];
  useActions(tab === 'needs' ? [...listActions, ...answers] : listActions);

  return (
    <div className="flex h-full min-h-0">
      <section aria-label="Inbox" className="relative flex min-w-0 flex-1 flex-col">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3 max-md:px-4">
          <h1 className="text-h1 font-semibold">Inbox</h1>
          <Tabs tab={tab} counts={{ [tab]: count }} isMore={list.isPartial} onTab={setTab} />
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
          <NoRows tab={tab} query={q} onClear={() => setQuery('')} />
        ) : (
          <List
            rows={rows}
            cursor={cursor.index}
            onCursor={cursor.move}
            onOpen={open}
            label={isNeeds ? 'Waiting for you' : tab === 'done' ? 'Decided by you' : 'In review'}
            columns={isNeeds ? NEEDS_COLUMNS : STATE_COLUMNS}
            template={isNeeds ? NEEDS_TEMPLATE : STATE_TEMPLATE}
            {...(isNeeds ? { selected: selection.keys } : {})}
            gone={kept.gone}
            isPartial={list.isPartial}
          >
            {drawn}
          </List>
        )}
        {isNeeds && isSelecting && (
          <BatchBar
            rows={selection.rows}
            total={rows.length}
            onBatch={setBatch}
            onAll={selection.all}
            onClear={selection.clear}
          />
        )}
      </section>
      {isPeekOn && row && (
        <Peek peeked={peeked} isSelecting={isSelecting} onOpen={() => open(row)} />
      )}
      {batch && (
        <Suspense fallback={<KeysHeld />}>
          <BatchDrawer
            action={batch}
            rows={selection.rows}
            onClose={() => setBatch(undefined)}
            onDone={() => {
              setBatch(undefined);
              selection.clear();
              kept.show();
            }}
          />
        </Suspense>
      )}
    </div>
  );
}
