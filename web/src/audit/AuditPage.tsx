import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { api, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { agentsQuery, usersQuery } from '@/api/queries';
import { useActions } from '@/keys/react';
import { List } from '@/list/List';
import { Skeleton } from '@/list/Skeleton';
import { Empty, StaleStrip } from '@/list/Strips';
import { moves, useCursor } from '@/list/useCursor';
import { useTyped } from '@/list/useTyped';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { useTitle } from '@/shell/useTitle';
import { clockTime, exactTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { SearchField, Select } from '@/ui/Field';
import { NoAccess } from '@/ui/NoAccess';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { LeafDrawer } from './LeafDrawer';
import {
  actorOf,
  type Entry,
  entryOf,
  instantOf,
  isRefused,
  localOf,
  namesObject,
  namesTask,
  phrase,
  tokenNote,
} from './leaf';
import { ObjectLink } from './ObjectLink';

const route = getRouteApi('/audit');
const PAGE = 200;

type Search = ReturnType<typeof route.useSearch>;
type NameOf = (id: string) => string;

const auditPages = ({ object, by, kind, from, to }: Search) =>
  infiniteQueryOptions({
    queryKey: ['audit', object ?? '', by ?? '', kind ?? '', from ?? '', to ?? ''],
    queryFn: ({ pageParam }) => {
      const actor = by?.startsWith('agt_') ? { agent_id: by } : by ? { user_id: by } : {};
      const query = {
        page_size: PAGE,
        ...(pageParam ? { page_token: pageParam } : {}),
        ...(object ? { object } : {}),
        ...actor,
        ...(kind ? { kind } : {}),
        ...(from ? { from } : {}),
        ...(to ? { to } : {}),
      };
      return unwrap(api.GET('/v1/audit', { params: { query } }));
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.next_page_token ?? undefined,
    staleTime: 60_000,
  });

const RESULTS = [
  ['', 'Any result'],
  ['change', 'Done'],
  ['refusal', 'Refused'],
  ['disclosure', 'Log read'],
] as const;

const COLUMNS = [
  { word: 'When', className: '' },
  { word: 'What happened', className: '' },
  { word: 'Entry', className: 'text-right' },
] as const;
const TEMPLATE =
  'grid-cols-[152px_minmax(0,1fr)_104px] max-md:grid-cols-1 max-md:gap-y-0 max-md:content-center';

/** Formats a local time such as `2026-11-14 14:06:12`. */
function stamp(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleDateString('sv')} ${clockTime(at)}`;
}

export function Sentence({ entry, nameOf }: { entry: Entry; nameOf: NameOf }) {
  const { who, what, why } = entry.leaf;
  const [before, after] = phrase(entry.leaf);
  const move = what?.from && what.to ? `${what.from} → ${what.to}` : what?.to;
  const notes = [what?.revision && `rev ${what.revision}`, move, entry.leaf.setup && 'in setup'];
  const behalf = who?.on_behalf_of && `for ${nameOf(who.on_behalf_of)}`;
  // The reason of a refusal comes from the server; all others are quoted from people.
  const isNo = isRefused(entry.leaf);
  const reason = why?.reason && (isNo ? why.reason : `“${why.reason}”`);
  return (
    <span role="gridcell" className="min-w-0" data-refused={isNo || undefined}>
      <span className="block truncate">
        {isNo && (
          <span className="mr-2 inline-block align-middle">
            <Chip tone="bad" sign="✕">
              Refused
            </Chip>
          </span>
        )}
        <strong className="font-medium">
          <Untrusted text={actorOf(who, nameOf)} />
        </strong>{' '}
        {before}{' '}
        {what?.object && namesObject(entry.leaf) && (
          <ObjectLink object={what.object} nameOf={nameOf} />
        )}{' '}
        {after}
      </span>
      <span className="block truncate text-meta text-ink-3">
        <Untrusted
          text={[behalf, tokenNote(who, nameOf), ...notes, reason].filter(Boolean).join(' · ')}
        />
      </span>
    </span>
  );
}

function Filters({ search, set }: { search: Search; set: (next: Partial<Search>) => void }) {
  const { data: users } = useQuery(usersQuery());
  const { data: agents } = useQuery(agentsQuery());
  const onObject = useCallback((object: string) => set({ object: object || undefined }), [set]);
  const [object, setObject] = useTyped(search.object ?? '', onObject);
  const actors = [...(users ?? []), ...(agents ?? [])].map(({ id, name }) => [id, name] as const);
  const isElse = search.by && !actors.some(([id]) => id === search.by);
  const moment = (name: 'from' | 'to', label: string) => (
    <label className="flex items-center gap-1.5 text-meta text-ink-2 max-md:w-full">
      <span className="max-md:w-10">{label}</span>
      <input
        type="datetime-local"
        value={localOf(search[name])}
        onChange={(event) => set({ [name]: instantOf(event.target.value) })}
        className={classes(
          'h-8 rounded-control border border-line-strong bg-surface px-2 text-body',
          'max-md:h-11 max-md:flex-1',
        )}
      />
    </label>
  );
  return (
    <>
      <SearchField
        label="Object"
        placeholder="task_… or database:shop"
        value={object}
        onChange={setObject}
      />
      <Select
        aria-label="Actor"
        value={search.by ?? ''}
        choices={[
          ['', 'Anyone'],
          ...(isElse ? [[search.by!, search.by!] as const] : []),
          ...actors,
        ]}
        onChange={(by) => set({ by: by || undefined })}
        className="h-8 max-w-[200px] max-md:w-full max-md:max-w-full"
      />
      <Select
        aria-label="Result"
        value={search.kind ?? ''}
        choices={RESULTS}
        onChange={(kind) => set({ kind: kind || undefined })}
        className="h-8 max-md:w-full"
      />
      {moment('from', 'From')}
      {moment('to', 'Until')}
    </>
  );
}

/** Lists what was done or refused, newest first. Admins and auditors can read the whole audit log;
 *  others only the entries of a task, which the page of the task links to. */
export function AuditPage() {
  const me = useMe();
  const { object } = route.useSearch();
  useTitle('Audit');
  if (mayRead(me, 'audit') || (object && namesTask(object))) return <Entries />;
  return (
    <section aria-label="Audit">
      <h1 className="px-5 py-3 text-h1 font-semibold max-md:px-4">Audit</h1>
      <NoAccess title="Only admins and auditors can read the whole audit">
        The page of a task shows you its audit, if you proposed the task or review it.
      </NoAccess>
    </section>
  );
}

function Entries() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const nameOf = useNames();
  const query = useInfiniteQuery(auditPages(search));
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const rows = useMemo(
    () => (data?.pages ?? []).flatMap(({ items }) => items.map(entryOf)),
    [data],
  );
  const cursor = useCursor(rows, search.leaf);
  const set = useCallback(
    (next: Partial<Search>) =>
      void navigate({ to: '/audit', search: (old) => ({ ...old, ...next }), replace: true }),
    [navigate],
  );
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const open = (entry: Entry) => set({ leaf: entry.key });
  useActions(moves(rows, cursor, open));
  const drawn = useCallback(
    (entry: Entry) => (
      <>
        <time
          role="gridcell"
          dateTime={entry.leaf.when}
          title={entry.leaf.when && exactTime(entry.leaf.when)}
          className="font-mono text-meta text-ink-2"
        >
          {entry.leaf.when && stamp(entry.leaf.when)}
        </time>
        <Sentence entry={entry} nameOf={nameOf} />
        <span role="gridcell" className="text-right font-mono text-meta text-ink-3 max-md:hidden">
          …{entry.key.slice(-8)}
        </span>
      </>
    ),
    [nameOf],
  );
  const isNarrow = Boolean(search.object ?? search.by ?? search.kind ?? search.from ?? search.to);
  const chosen = rows.find(({ key }) => key === search.leaf);
  return (
    <section aria-label="Audit" className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-5 py-3 max-md:px-4">
        <h1 className="mr-1 text-h1 font-semibold">Audit</h1>
        <div className="flex-1 max-md:hidden" />
        <Filters search={search} set={set} />
      </div>
      {Boolean(error) && rows.length > 0 && (
        <StaleStrip readAt={query.dataUpdatedAt} onRetry={() => void refetch()} />
      )}
      {!data ? (
        error ? (
          <Trouble error={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton />
        )
      ) : rows.length === 0 ? (
        <Empty title={isNarrow ? 'No matching entries' : 'No audit entries yet'}>
          {isNarrow ? (
            <Button onClick={() => void navigate({ to: '/audit', search: {} })}>
              Clear filter
            </Button>
          ) : (
            'Every change by people, agents and the server is recorded here.'
          )}
        </Empty>
      ) : (
        <List
          rows={rows}
          cursor={cursor.index}
          onCursor={cursor.move}
          onOpen={open}
          label="Audit entries"
          columns={COLUMNS}
          template={TEMPLATE}
          isPartial={hasNextPage}
          onEnd={onEnd}
        >
          {drawn}
        </List>
      )}
      {chosen && (
        <LeafDrawer entry={chosen} nameOf={nameOf} onClose={() => set({ leaf: undefined })} />
      )}
    </section>
  );
}
