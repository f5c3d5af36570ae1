import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { byNeed } from '@/agents/health';
import { Health, Seen } from '@/agents/parts';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';
import { agentsQuery, statusQuery } from '@/api/queries';
import { StaleStrip } from '@/list/Strips';
import { locksQuery } from '@/locks/queries';
import { SetupNote } from '@/shell/SetupNote';
import { useTitle } from '@/shell/useTitle';
import { Card, CardWait } from '@/ui/Card';
import { LINK } from '@/ui/look';
import { Named } from '@/ui/Named';
import { Page } from '@/ui/Page';
import { Risk } from '@/ui/Risk';
import { Ago } from '@/ui/Time';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { DaysCard, type Span } from './DaysCard';
import { applied, counted, inState, needLook, oldest, passedByPolicy, ratesOf } from './figures';
import { PairsCard } from './PairsCard';

const SHOWN = 5;
/** Tasks are listed newest first; beyond this number, the oldest are not searched. */
const TASKS_MAX = 2_000;

const overviewQuery = (days: number) =>
  queryOptions({
    queryKey: ['tasks', 'overview', days],
    queryFn: () => unwrap(api.GET('/v1/stats/overview', { params: { query: { days } } })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });

const waitingQuery = () =>
  queryOptions({
    queryKey: ['tasks', 'waiting'],
    queryFn: () =>
      everyPage(
        (query) =>
          unwrap(api.GET('/v1/tasks', { params: { query: { state: ['REVIEWING'], ...query } } })),
        TASKS_MAX,
      ),
  });

interface TileProps {
  word: string;
  value: string;
  to: LinkProps['to'];
  search?: LinkProps['search'];
}

function Tile({ word, value, to, search = {} }: TileProps) {
  return (
    <Link
      to={to}
      search={search}
      data-tile={word}
      className="card block px-4 py-3 hover:border-line-strong"
    >
      <span className="block text-[28px] leading-9 font-semibold">{value}</span>
      <span className="block text-meta text-ink-2">{word}</span>
    </Link>
  );
}

/** Lists degraded components; renders nothing if there are none. */
export function Degraded({ status }: { status: Schemas['Status'] }) {
  if (status.degradations.length === 0) return null;
  return (
    <div role="alert" className="card border-high-mark px-4 py-3" data-degraded>
      <p className="font-semibold text-high">▲ {status.banner ?? 'Degraded performance'}</p>
      <ul className="mt-1 list-disc pl-5 text-ink-2">
        {status.degradations.map(({ part, detail }) => (
          <li key={part}>
            <strong className="font-medium text-ink">{part}</strong>: <Untrusted text={detail} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Rows({ title, none, items }: { title: string; none: string; items?: ReactNode[] }) {
  return (
    <Card title={title}>
      {!items ? (
        <CardWait error={null} />
      ) : items.length === 0 ? (
        <p className="text-ink-2">{none}</p>
      ) : (
        <ul className="divide-y divide-line">{items}</ul>
      )}
    </Card>
  );
}

const ROW = 'flex flex-wrap items-center gap-x-3 gap-y-0.5 py-2';

function Oldest() {
  const { data } = useQuery(waitingQuery());
  const items = data && oldest(data.items, SHOWN);
  return (
    <Rows
      title={data?.isCut ? `Oldest in review, among the newest ${TASKS_MAX}` : 'Oldest in review'}
      none="No tasks in review."
      {...(items && {
        items: items.map((task) => (
          <li key={task.id} className={ROW}>
            <Risk level={task.risk.level} score={task.risk.score} />
            <Link
              to="/tasks/$id"
              params={{ id: task.id }}
              search={{}}
              className="min-w-0 flex-1 truncate hover:underline"
            >
              <Named text={task.title} />
            </Link>
            <span className="text-meta text-ink-2">
              <Ago at={task.state_since} />
            </span>
          </li>
        )),
      })}
    />
  );
}

function Agents() {
  const { data } = useQuery(agentsQuery());
  const items = data && needLook(data).sort(byNeed).slice(0, SHOWN);
  return (
    <Rows
      title="Agents that need attention"
      none="All agents are healthy."
      {...(items && {
        items: items.map((agent) => (
          <li key={agent.id} className={ROW}>
            <Health agent={agent} />
            <Link to="/agents/$id" params={{ id: agent.id }} className={`${LINK} min-w-0 flex-1`}>
              <Named text={agent.name} />
            </Link>
            <Seen agent={agent} />
          </li>
        )),
      })}
    />
  );
}

function Contended() {
  const { data } = useQuery(locksQuery());
  const items = data?.items
    .filter(({ waiting }) => waiting > 0)
    .sort((one, other) => other.waiting - one.waiting)
    .slice(0, SHOWN);
  return (
    <Rows
      title="Most contended locks"
      none="No one is waiting for a lock."
      {...(items && {
        items: items.map(({ resource, waiting }) => (
          <li key={resource} className={ROW}>
            <Link
              to="/locks"
              search={{ view: 'all', resource }}
              className={`${LINK} min-w-0 flex-1 truncate font-mono text-meta`}
            >
              <Untrusted text={resource} />
            </Link>
            <span className="text-meta text-ink-2">{waiting} waiting</span>
          </li>
        )),
      })}
    />
  );
}

function Rates({ overview }: { overview: Schemas['Overview'] }) {
  const rates = ratesOf(overview);
  return (
    <Rows
      title="Events in the last 24 hours"
      none="No events."
      items={rates.slice(0, 8).map(({ type, count, part }) => (
        <li
          key={type}
          className="grid grid-cols-[minmax(0,1fr)_88px_56px] items-center gap-3 py-1.5"
        >
          <span className="truncate font-mono text-meta">{type}</span>
          <span aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-sunken">
            <span className="block h-full bg-review-mark" style={{ width: `${part * 100}%` }} />
          </span>
          <span className="text-right">{count.toLocaleString('en')}</span>
        </li>
      ))}
    />
  );
}

/** Overview of pending work, overdue reviews and degraded components. */
export function OverviewPage() {
  const [span, setSpan] = useState<Span>('7');
  const { data, error, refetch, dataUpdatedAt } = useQuery(overviewQuery(Number(span)));
  const { data: status } = useQuery(statusQuery());
  useTitle('Overview');
  if (!data) {
    return error ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <div aria-busy="true" />
    );
  }
  const reviewing = { state: 'REVIEWING' } as const;
  return (
    <Page title="Overview">
      {error && <StaleStrip readAt={dataUpdatedAt} onRetry={() => void refetch()} />}
      {status && <Degraded status={status} />}
      <SetupNote />
      <div className="grid grid-cols-4 gap-3 max-lg:grid-cols-2">
        <Tile
          word="Tasks in review"
          value={counted(inState(data, 'REVIEWING'))}
          to="/tasks"
          search={reviewing}
        />
        <Tile
          word="Overdue review requests"
          value={counted(data.overdue_approvals)}
          to="/tasks"
          search={reviewing}
        />
        <Tile
          word="Approved, not applied yet"
          value={counted(inState(data, 'APPROVED', 'APPLYING'))}
          to="/tasks"
          search={{ state: 'APPROVED' }}
        />
        <Tile
          word="Failed or unknown"
          value={counted(inState(data, 'FAILED', 'UNKNOWN'))}
          to="/tasks"
          search={{ state: 'FAILED' }}
        />
        <Tile word="Open review requests" value={counted(data.pending_approvals)} to="/inbox" />
        <Tile
          word="Apply success"
          value={applied(data)}
          to="/tasks"
          search={{ state: 'COMPLETED' }}
        />
        <Tile word="Auto-approved" value={passedByPolicy(data)} to="/policies" />
        <Tile
          word="Open override reviews"
          value={counted(data.after_reviews_owed)}
          to="/after-reviews"
        />
      </div>
      <DaysCard overview={data} span={span} onSpan={setSpan} />
      <div className="grid grid-cols-2 gap-4 max-lg:grid-cols-1">
        <Oldest />
        <Agents />
        <Contended />
        <Rates overview={data} />
        <PairsCard overview={data} />
      </div>
    </Page>
  );
}
