import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { api, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { Refused } from '@/api/problem';
import { useSend } from '@/api/useSend';
import { Proposed } from '@/changes/Proposed';
import { useOwnerBar } from '@/shell/bars';
import { NotFound } from '@/shell/NotFound';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Fact } from '@/ui/Fact';
import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import { spelled } from '@/ui/text';
import { Trouble } from '@/ui/Trouble';
import { ConfigCard } from './ConfigCard';
import { Health, Load, Seen } from './parts';
import type { Agent } from '@/api/queries';
import { agentQuery } from './queries';

const route = getRouteApi('/agents/$id');

const ORDERS = {
  pause: '/v1/agents/{id}/pause',
  drain: '/v1/agents/{id}/drain',
  resume: '/v1/agents/{id}/resume',
} as const;

type Order = keyof typeof ORDERS;

function Orders({ agent }: { agent: Agent }) {
  const bar =
    useOwnerBar(agent.owner_id) ?? (agent.revoked_at ? 'This agent is revoked.' : undefined);
  const send = useSend({
    send: (order: Order, key) =>
      unwrap(
        api.POST(ORDERS[order], {
          params: { path: { id: agent.id }, header: { 'Idempotency-Key': key } },
          body: {},
        }),
      ),
    touches: 'agents',
  });
  const isStopped = agent.status === 'paused' || agent.status === 'draining';
  const order = (which: Order) => () => send.go(which);
  const disabledReason = bar ?? send.bar;
  return (
    <div className="flex gap-2">
      {isStopped ? (
        <Button tone="primary" disabledReason={disabledReason} onClick={order('resume')}>
          Resume
        </Button>
      ) : (
        <>
          <Button
            disabledReason={disabledReason}
            title="The agent finishes its running tasks and then waits"
            onClick={order('pause')}
          >
            Pause
          </Button>
          <Button
            disabledReason={disabledReason}
            title="The agent finishes its running tasks and then stops"
            onClick={order('drain')}
          >
            Drain
          </Button>
        </>
      )}
    </div>
  );
}

export function AgentPage() {
  const { id } = route.useParams();
  const nameOf = useNames();
  const { data: agent, error, refetch } = useQuery(agentQuery(id));
  useTitle(agent ? spelled(agent.name) : 'Agent');
  if (error instanceof Refused && error.is('not_found')) return <NotFound />;
  if (!agent)
    return error ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <div aria-busy="true" />
    );
  return (
    <div className="h-full overflow-y-auto" tabIndex={0} role="group" aria-label="Agent">
      <div className="mx-auto max-w-[1040px] px-6 py-4 max-md:px-4">
        <nav aria-label="Breadcrumb" className="font-mono text-meta text-ink-3">
          <Link to="/agents" search={{}} className="hover:text-ink hover:underline">
            Agents
          </Link>{' '}
          / {agent.id.slice(-6)}
        </nav>
        <header className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
          <h1 className="text-h1 font-semibold wrap-anywhere">
            <Named text={agent.name} />
          </h1>
          <Health agent={agent} />
          <Seen agent={agent} />
          <span className="flex-1" />
          <Orders agent={agent} />
        </header>
        <div className="grid gap-4">
          <Proposed kinds={/^agent\./} object={agent.id} />
          <Card title="Details">
            <dl>
              <Fact word="Owner">
                <Named text={nameOf(agent.owner_id)} />
              </Fact>
              <Fact word="Can apply">
                <span className="font-mono text-meta">
                  {agent.capabilities.join(' ') || 'nothing'}
                </span>
              </Fact>
              <Fact word="Running">
                <Load agent={agent} />
              </Fact>
              <Fact word="Registered">
                <Ago at={agent.registered_at} />
              </Fact>
              <Fact word="Tasks">
                <Link
                  to="/tasks"
                  search={{ q: `by:${spelled(agent.name).split(' ')[0]}` }}
                  className="text-accent underline underline-offset-2"
                >
                  Tasks proposed by this agent
                </Link>
              </Fact>
            </dl>
          </Card>
          <ConfigCard agent={agent} nameOf={nameOf} />
        </div>
      </div>
    </div>
  );
}
