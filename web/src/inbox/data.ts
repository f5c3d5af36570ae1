import {
  type InfiniteData,
  infiniteQueryOptions,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { api, type Schemas, taken } from '@/api/client';
import type { Approval } from '@/api/queries';
import { fromApproval, fromTask, inOrder, once, type Row } from './rows';

export type Tab = 'needs' | 'watching' | 'done';

/** Pages of 200 are read one after the other up to here; beyond, the filter has to narrow. */
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
      taken(api.GET('/v1/approvals', { params: { query: { status, ...pageOf(pageParam) } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: next,
    staleTime: 60_000,
  });

export const needsQuery = () => approvals(NEEDS, 'PENDING');

const tasksIn = (state: Schemas['State'] | undefined) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'list', state ?? 'all'],
    queryFn: ({ pageParam }): Promise<Page<Schemas['TaskSummary']>> => {
      const query = { ...(state ? { state } : {}), ...pageOf(pageParam) };
      return taken(api.GET('/v1/tasks', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: next,
  });

export interface List {
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  /** Pages are on their way. */
  readonly isFilling: boolean;
  /** There are more than these, on their way or not. */
  readonly isPartial: boolean;
  readonly error: unknown;
  readonly readAt: number;
  readonly refetch: () => void;
}

type Result<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>, unknown>>;

/** Whether the next page is to be read, too. */
function isMoreWanted<Item>({ data, hasNextPage, isError }: Result<Item>): boolean {
  const count = data?.pages.reduce((sum, page) => sum + page.items.length, 0) ?? 0;
  // After the last full page there may be one more, with nothing in it.
  return hasNextPage && !isError && count <= ROWS_MAX;
}

/** Goes on reading until all of it is here. */
function useAllPages<Item>(query: Result<Item>, isOn: boolean): void {
  const { data, isFetching, fetchNextPage } = query;
  const isNext = isOn && !isFetching && isMoreWanted(query);
  // After each page, too: a tab in the background is told of a page only when it is there, and has
  // never seen it being read.
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

/** What waits for the caller. The shell keeps it read, for its count. */
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

/** What the caller has answered, the newest first. */
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
    // A task may have been answered more than once, on different revisions.
    const found = pages.flatMap(({ items }) =>
      items.map((approval) => ({ ...fromApproval(approval), key: approval.id })),
    );
    return found.sort((one, other) => (one.since < other.since ? 1 : -1));
  }, [approved.data, rejected.data]);
  // Of what is over, the newest pages are enough.
  const isFilling = approved.isPending || rejected.isPending;
  return { ...listOf(approved, rows), isFilling, error: approved.error ?? rejected.error };
}
