import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useNames } from '@/api/names';
import { More } from '@/list/More';
import { Skeleton } from '@/list/Skeleton';
import { Empty } from '@/list/Strips';
import { useMe } from '@/session/session';
import { isAdmin } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { SearchField } from '@/ui/Field';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Trouble } from '@/ui/Trouble';
import { useIsPhone } from '@/ui/useIsPhone';
import { AgentList } from './AgentList';
import { byNeed } from './health';
import { Health, Load, Name, Seen } from './parts';
import { type Agent, agentsQuery } from '@/api/queries';

const route = getRouteApi('/agents/');
type NameOf = (id: string) => string;

function Card({ agent, nameOf }: { agent: Agent; nameOf: NameOf }) {
  return (
    <li className="card space-y-2.5 px-4 py-3.5" data-agent={agent.name}>
      <div className="flex items-start justify-between gap-3">
        <Name agent={agent} />
        <Health agent={agent} />
      </div>
      <p className="text-meta text-ink-2">
        <Named text={nameOf(agent.owner_id)} /> answers for it · configuration{' '}
        {agent.config_version}
      </p>
      <div className="flex items-center justify-between gap-3">
        <Load agent={agent} />
        <Seen agent={agent} />
      </div>
      <p className="truncate font-mono text-meta text-ink-3">
        {agent.capabilities.length > 0 ? agent.capabilities.join(' ') : 'proposes only'}
      </p>
    </li>
  );
}

export function AgentsPage() {
  const { view, q = '' } = route.useSearch();
  const navigate = useNavigate();
  const me = useMe();
  const nameOf = useNames();
  const isPhone = useIsPhone();
  const { data, error, refetch } = useQuery(agentsQuery());
  const word = q.trim().toLowerCase();
  const agents = useMemo(
    () => (data ?? []).filter(({ name }) => name.toLowerCase().includes(word)).sort(byNeed),
    [data, word],
  );
  useTitle('Agents');
  const isGrid = view === 'grid' || isPhone;
  const search = (next: { view?: 'grid' | undefined; q?: string | undefined }) =>
    void navigate({ to: '/agents', search: { view, q: q || undefined, ...next }, replace: true });
  const mayAdd = isAdmin(me);
  return (
    <section aria-label="Agents" className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3 max-md:px-4">
        <h1 className="text-h1 font-semibold">Agents</h1>
        {data && (
          <p className="text-meta text-ink-2">
            {data.filter(({ status }) => status === 'active').length} of {data.length} active
          </p>
        )}
        <div className="flex-1" />
        <SearchField
          label="Filter"
          placeholder="Name"
          value={q}
          onChange={(word) => search({ q: word || undefined })}
        />
        {!isPhone && (
          <Button
            tone="quiet"
            aria-pressed={isGrid}
            onClick={() => search({ view: isGrid ? undefined : 'grid' })}
          >
            {isGrid ? 'Show as list' : 'Show as cards'}
          </Button>
        )}
        <Button
          tone="primary"
          disabledReason={mayAdd ? undefined : 'Only admins can add agents.'}
          onClick={() => void navigate({ to: '/agents/new', search: {} })}
        >
          Add agent
        </Button>
      </div>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {!data ? (
          error ? (
            <Trouble error={error} onRetry={() => void refetch()} />
          ) : (
            <Skeleton />
          )
        ) : agents.length === 0 ? (
          <Empty title={word ? 'No matching agents' : 'No agents yet'}>
            {word
              ? 'No agent name matches the filter.'
              : 'Agents propose and apply changes. Each agent has an owner.'}
          </Empty>
        ) : isGrid ? (
          <More items={agents}>
            {(shown) => (
              <ul
                className={classes(
                  'grid grid-cols-[repeat(auto-fill,minmax(280px,1fr))] gap-3 px-5 pb-6',
                  'max-md:px-4',
                )}
              >
                {shown.map((agent) => (
                  <Card key={agent.id} agent={agent} nameOf={nameOf} />
                ))}
              </ul>
            )}
          </More>
        ) : (
          <AgentList agents={agents} nameOf={nameOf} />
        )}
      </div>
    </section>
  );
}
