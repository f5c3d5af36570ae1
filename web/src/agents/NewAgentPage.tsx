import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { usersQuery } from '@/api/queries';
import { refetch } from '@/api/refetch';
import { errorMessage } from '@/api/errorMessage';
import { useMe } from '@/session/session';
import { isAdmin } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { clockTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Choice, Field } from '@/ui/Field';
import { Secret } from '@/ui/Secret';
import { capabilitiesOf, type Draft, EMPTY, fault, reach, STEPS } from './health';
import { Guardrails } from './Guardrails';
import { agentQuery } from './queries';

const route = getRouteApi('/agents/new');
const KEPT = 'ade.agent-draft';
function kept(): Draft {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEPT) ?? '{}');
    return { ...EMPTY, ...(found as Partial<Draft>) };
  } catch {
    return EMPTY;
  }
}

interface StepProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

function Identity({ draft, set }: StepProps) {
  const { data } = useQuery(usersQuery());
  const people = (data ?? [])
    .filter(({ active }) => active)
    .map(({ id, name }) => [id, name] as const);
  return (
    <>
      <Field
        label="Name"
        says="Shown in every list and in the audit log."
        value={draft.name}
        maxLength={128}
        placeholder="infra-bot"
        onChange={(name) => set({ name })}
      />
      <Choice
        label="Owner"
        says="The owner can never approve tasks of this agent."
        value={draft.owner}
        choices={[['', 'Choose a person'], ...people]}
        onChange={(owner) => set({ owner })}
      />
    </>
  );
}

function Capabilities({ draft, set }: StepProps) {
  return (
    <Field
      label="Task types this agent can apply"
      says="Separate with spaces; * matches any text without a dot. Leave empty to only propose."
      value={draft.capabilities}
      spellCheck={false}
      placeholder="sql.* deploy.site"
      onChange={(capabilities) => set({ capabilities })}
      className="font-mono"
    />
  );
}

function Limits({ draft, set }: StepProps) {
  return (
    <Field
      label="Maximum concurrent tasks"
      value={draft.maxTasks}
      inputMode="numeric"
      onChange={(maxTasks) => set({ maxTasks })}
    />
  );
}

interface Made {
  readonly id: string;
  readonly token: string;
}

/** The token exists only in the memory of this page and is lost when the reader leaves it. */
function Connected({ made }: { made: Made }) {
  const { data } = useQuery({ ...agentQuery(made.id), refetchInterval: 5_000 });
  const isThere = data?.status === 'active' && data.seen_at;
  const command = [
    `export ADE_SERVER=${location.origin}`,
    `export ADE_TOKEN=${made.token}`,
    'ade run --resource service:checkout -- ./deploy.sh',
  ].join('\n');
  return (
    <div className="space-y-4">
      <Secret title="Agent token (shown only once)" value={made.token} />
      <div>
        <h3 className="font-semibold">Run this where the agent runs</h3>
        <pre
          tabIndex={0}
          aria-label="Commands"
          className={classes(
            'mt-1.5 overflow-x-auto rounded-control bg-sunken px-3 py-2 font-mono',
            'text-meta whitespace-pre-wrap wrap-anywhere',
          )}
        >
          {command}
        </pre>
      </div>
      <p role="status" className={classes('font-medium', isThere ? 'text-good' : 'text-ink-2')}>
        {isThere && data.seen_at
          ? `✓ Connected ${clockTime(data.seen_at)}`
          : '◌ Waiting for the first heartbeat…'}
      </p>
      <Link
        to="/agents/$id"
        params={{ id: made.id }}
        className="inline-block text-accent underline underline-offset-2"
      >
        Open agent
      </Link>
    </div>
  );
}

function Connect({
  draft,
  made,
  onMade,
}: {
  draft: Draft;
  made: Made | undefined;
  onMade: (made: Made) => void;
}) {
  const client = useQueryClient();
  const me = useMe();
  const [key] = useState(() => crypto.randomUUID());
  const add = useMutation({
    mutationFn: async (): Promise<Made> => {
      const agent = await unwrap(
        api.POST('/v1/agents', {
          params: { header: { 'Idempotency-Key': key } },
          body: {
            name: draft.name.trim(),
            owner_id: draft.owner,
            capabilities: capabilitiesOf(draft),
            max_tasks: Number(draft.maxTasks),
          },
        }),
      );
      const issued = await unwrap(
        api.POST('/v1/tokens', {
          params: { header: { 'Idempotency-Key': `${key}-token` } },
          body: { agent_id: agent.id, scopes: ['read', 'propose', 'execute'], days: 30 },
        }),
      );
      return { id: agent.id, token: issued.token ?? '' };
    },
    onSuccess: (done) => {
      localStorage.removeItem(KEPT);
      onMade(done);
    },
    onError: (error) => toast.error(errorMessage(error)),
    onSettled: () => {
      void refetch(client, { queryKey: ['agents'] });
      void refetch(client, { queryKey: ['names'] });
    },
  });
  if (made) return <Connected made={made} />;
  const rows = [
    ['Name', draft.name],
    ['Can apply', capabilitiesOf(draft).join(' ') || 'nothing'],
    ['Concurrent tasks', draft.maxTasks],
  ];
  return (
    <div className="space-y-4">
      <dl>
        {rows.map(([word, value]) => (
          <div key={word} className="grid grid-cols-[120px_minmax(0,1fr)] gap-2 py-1">
            <dt className="text-ink-3">{word}</dt>
            <dd className="wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
      <Button
        tone="primary"
        disabledReason={isAdmin(me) ? undefined : 'Only admins can add agents.'}
        onClick={() => !add.isPending && add.mutate()}
      >
        {add.isPending ? 'Adding…' : 'Add agent and create token'}
      </Button>
    </div>
  );
}

export function NewAgentPage() {
  const { step: wanted = 1 } = route.useSearch();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(kept);
  const [made, setMade] = useState<Made>();
  const step = made ? STEPS.length : reach(draft, wanted);
  useTitle('Add agent');
  const set = (change: Partial<Draft>) => {
    const next = { ...draft, ...change };
    setDraft(next);
    localStorage.setItem(KEPT, JSON.stringify(next));
  };
  const go = (next: number) => void navigate({ to: '/agents/new', search: { step: next } });
  const wrong = fault(draft, step);
  const pages = [
    <Identity key="1" draft={draft} set={set} />,
    <Capabilities key="2" draft={draft} set={set} />,
    <Limits key="3" draft={draft} set={set} />,
    <Guardrails key="4" draft={draft} />,
    <Connect key="5" draft={draft} made={made} onMade={setMade} />,
  ];
  return (
    <div className="h-full overflow-y-auto" tabIndex={0} role="group" aria-label="Add agent">
      <div className="mx-auto max-w-[640px] px-6 py-6 max-md:px-4">
        <h1 className="text-h1 font-semibold">Add agent</h1>
        <ol className="flex flex-wrap gap-x-4 gap-y-1 py-4 text-meta">
          {STEPS.map((word, index) => (
            <li
              key={word}
              aria-current={index + 1 === step ? 'step' : undefined}
              className={classes(index + 1 === step ? 'font-semibold text-ink' : 'text-ink-3')}
            >
              {index + 1 < step ? '✓' : index + 1} {word}
            </li>
          ))}
        </ol>
        <form
          className="card space-y-5 p-5"
          onSubmit={(event) => {
            event.preventDefault();
            if (!wrong && step < STEPS.length) go(step + 1);
          }}
        >
          <h2 className="text-title font-semibold">{STEPS[step - 1]}</h2>
          {pages[step - 1]}
          {!made && (
            <div className="flex items-center gap-2 border-t border-line pt-4">
              {wrong && <span className="flex-1 text-meta text-ink-2">{wrong}</span>}
              <span className="flex-1" />
              {step > 1 && <Button onClick={() => go(step - 1)}>Back</Button>}
              {step < STEPS.length && (
                <Button type="submit" tone="primary" disabledReason={wrong}>
                  Next
                </Button>
              )}
            </div>
          )}
        </form>
      </div>
    </div>
  );
}
