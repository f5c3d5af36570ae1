import {
  type InfiniteData,
  infiniteQueryOptions,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import type { Approval } from '@/api/queries';
import { fromApproval, fromTask, inOrder, once, type Row } from './rows';

export type Tab = 'needs' | 'watching' | 'done';

/** Maximum number of rows, read in pages of 200. Beyond it, the reader has to filter. */
export const ROWS_MAX = 10_000;
const PAGE = 200;

type Page<Item> = { readonly items: readonly Item[]; readonly next_page_token?: string | null };
export type Asked = InfiniteData<Page<Approval>, string | undefined>;

const next = (page: Page<unknown>) => page.next_page_token ?? undefined;

const pageOf = (token: string | undefined) => ({
  page_size: PAGE,
  ...(token ? { page_token: token } : {}),
});

export const NEEDS = ['inbox', 'needs'] as const;

const approvals = (key: readonly string[], status: Approval['status']) =>
  infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }): Promise<Page<Approval>> =>
      unwrap(api.GET('/v1/approvals', { params: { query: { status, ...pageOf(pageParam) } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: next,
    staleTime: 60_000,
  });

export const needsQuery = () => approvals(NEEDS, 'PENDING');

const tasksIn = (state: Schemas['State'] | undefined) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'list', state ?? 'all'],
    queryFn: ({ pageParam }): Promise<Page<Schemas['TaskSummary']>> => {
      const query = { ...(state ? { state: [state] } : {}), ...pageOf(pageParam) };
      return unwrap(api.GET('/v1/tasks', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: next,
  });

export interface List {
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  /** More pages are being loaded. */
  readonly isFilling: boolean;
  /** There are more rows, whether or not they are being loaded. */
  readonly isPartial: boolean;
  readonly error: unknown;
  readonly readAt: number;
  readonly refetch: () => void;
}

type Result<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>, unknown>>;

/** Whether to read the next page. */
function isMoreWanted<Item>({ data, hasNextPage, isError }: Result<Item>): boolean {
  const count = data?.pages.reduce((sum, page) => sum + page.items.length, 0) ?? 0;
  // After the last full page there may be one empty page.
  return hasNextPage && !isError && count <= ROWS_MAX;
}

/** Reads pages until the list is complete. */
function useAllPages<Item>(query: Result<Item>, isOn: boolean): void {
  const { data, isFetching, fetchNextPage } = query;
  const isNext = isOn && !isFetching && isMoreWanted(query);
  // Also runs after each page: a background tab is notified only when a page has arrived and
  // never sees the loading state.
  useEffect(() => {
    if (isNext) void fetchNextPage();
  }, [isNext, data, fetchNextPage]);
}

function listOf<Item>(query: Result<Item>, rows: readonly Row[]): List {
  return {
    rows,
    isLoading: query.isPending,
    isFilling: query.isPending || isMoreWanted(query),
    isPartial: query.hasNextPage,
    error: query.error,
    readAt: query.dataUpdatedAt,
    refetch: () => void query.refetch(),
  };
}

const NO_ROWS: readonly Row[] = [];

const askedRows = once(({ pages }: Pick<Asked, 'pages'>): readonly Row[] =>
  pages.flatMap(({ items }) => items.map(fromApproval)).sort(inOrder),
);

/** Tasks that wait for the caller. The shell keeps this list loaded for its count. */
export function useNeeds(): List {
  const query = useInfiniteQuery(needsQuery());
  useAllPages(query, true);
  return listOf(query, query.data ? askedRows(query.data) : NO_ROWS);
}

export function useTaskList(state: Schemas['State'] | undefined, isOn = true): List {
  const query = useInfiniteQuery({ ...tasksIn(state), enabled: isOn });
  useAllPages(query, isOn);
  const rows = useMemo(
    () => (query.data?.pages ?? []).flatMap(({ items }) => items.map(fromTask)),
    [query.data],
  );
  return listOf(query, rows);
}

/** Tasks that the caller has decided, newest first. */
export function useDone(isOn: boolean): List {
  const approved = useInfiniteQuery({
    ...approvals(['inbox', 'approved'], 'APPROVED'),
    enabled: isOn,
  });
  const rejected = useInfiniteQuery({
    ...approvals(['inbox', 'rejected'], 'REJECTED'),
    enabled: isOn,
  });
  const rows = useMemo(() => {
    const pages = [...(approved.data?.pages ?? []), ...(rejected.data?.pages ?? [])];
    // A task may have several votes by the caller, on different revisions.
    const found = pages.flatMap(({ items }) =>
      items.map((approval) => ({ ...fromApproval(approval), key: approval.id })),
    );
    return found.sort((one, other) => (one.since < other.since ? 1 : -1));
  }, [approved.data, rejected.data]);
  // For finished tasks the newest pages are enough.
  const isFilling = approved.isPending || rejected.isPending;
  return { ...listOf(approved, rows), isFilling, error: approved.error ?? rejected.error };
}
