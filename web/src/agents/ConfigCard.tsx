import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useMemo, useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, unwrap } from '@/api/client';
import { refetch } from '@/api/refetch';
import { Diff } from '@/review/Diff';
import { diff } from '@/review/diff';
import { linesOf } from '@/review/effect';
import { useMe } from '@/session/session';
import { useOwnerBar } from '@/shell/bars';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Changes } from '@/ui/Changes';
import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import type { Agent } from '@/api/queries';
import { configQuery, differenceQuery, versionsQuery } from './queries';
import { errorMessage } from '@/api/errorMessage';

type Config = Schemas['AgentConfig'];
type NameOf = (id: string) => string;

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Edits the configuration as text, shows the diff, and saves it as the next version. */
function Editor({ agent, config }: { agent: Agent; config: Config }) {
  const client = useQueryClient();
  const bar = useOwnerBar(agent.owner_id);
  const was = useMemo(() => linesOf(config.config), [config]);
  const [text, setText] = useState(was.join('\n'));
  const [reason, setReason] = useState('');
  const [area, why] = [useId(), useId()];
  const now = parsed(text);
  const lines = useMemo(() => (now ? diff(was, linesOf(now)) : []), [was, now]);
  const count = lines.filter(({ kind }) => kind !== 'same').length;
  const save = useMutation({
    mutationFn: (next: Record<string, unknown>) =>
      unwrap(
        api.PUT('/v1/agents/{id}/config', {
          params: {
            path: { id: agent.id },
            header: { 'If-Match': `"${config.version}"`, 'Idempotency-Key': crypto.randomUUID() },
          },
          body: { config: next, ...(reason.trim() ? { reason: reason.trim() } : {}) },
        }),
      ),
    onSuccess: (saved) => {
      toast.success(`Saved as version ${saved.version}`);
      setReason('');
    },
    onError: (error) => toast.error(errorMessage(error)),
    onSettled: () => refetch(client, { queryKey: ['agents', agent.id] }),
  });
  const disabledReason =
    bar ??
    (!now
      ? 'The configuration must be a JSON object.'
      : count === 0
        ? 'No changes to save.'
        : undefined);
  return (
    <div className="space-y-3">
      <label htmlFor={area} className="sr-only">
        Configuration as JSON
      </label>
      <textarea
        id={area}
        value={text}
        spellCheck={false}
        rows={Math.min(16, Math.max(4, text.split('\n').length))}
        aria-invalid={now ? undefined : true}
        onChange={(event) => setText(event.target.value)}
        className={classes(
          'w-full rounded-control border border-line-strong bg-surface px-3 py-2',
          'font-mono text-meta aria-invalid:border-danger',
        )}
      />
      {count > 0 && <Diff lines={lines} isSplit={false} isWhole={false} label="Changes" />}
      <div className="flex flex-wrap items-center gap-2">
        <label htmlFor={why} className="sr-only">
          Reason
        </label>
        <input
          id={why}
          value={reason}
          maxLength={4096}
          placeholder="Reason (optional)"
          onChange={(event) => setReason(event.target.value)}
          className={classes(
            'h-8 min-w-[200px] flex-1 rounded-control border border-line-strong',
            'bg-surface px-3 max-md:h-11',
          )}
        />
        <Button
          tone="primary"
          disabledReason={disabledReason}
          onClick={() => now && !save.isPending && save.mutate(now)}
        >
          {save.isPending ? 'Saving…' : `Save as version ${config.version + 1}`}
        </Button>
      </div>
      {disabledReason && disabledReason !== 'No changes to save.' && (
        <p className="text-meta text-ink-2">{disabledReason}</p>
      )}
    </div>
  );
}

function Difference({ agent, version }: { agent: string; version: number }) {
  const { data, error } = useQuery(differenceQuery(agent, version));
  if (!data) return <CardWait error={error} />;
  return <Changes changes={data.changes} />;
}

function Versions({ agent, current, nameOf }: { agent: Agent; current: number; nameOf: NameOf }) {
  const client = useQueryClient();
  const bar = useOwnerBar(agent.owner_id);
  const { data, error } = useQuery(versionsQuery(agent.id));
  const [open, setOpen] = useState<number>();
  const back = useMutation({
    mutationFn: (to: number) =>
      unwrap(
        api.POST('/v1/agents/{id}/config/rollback', {
          params: { path: { id: agent.id }, header: { 'Idempotency-Key': crypto.randomUUID() } },
          body: { to, reason: `roll back to version ${to}` },
        }),
      ),
    onSuccess: (saved) => toast.success(`Rolled back; saved as version ${saved.version}`),
    onError: (error) => toast.error(errorMessage(error)),
    onSettled: () => refetch(client, { queryKey: ['agents', agent.id] }),
  });
  if (!data) return <CardWait error={error} />;
  return (
    <ol className="divide-y divide-line border-t border-line">
      {data.items.map((one) => (
        <li key={one.version} className="py-2" data-version={one.version}>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <strong className="font-semibold">Version {one.version}</strong>
            <span className="min-w-0 flex-1 text-meta text-ink-2 wrap-anywhere">
              <Named text={nameOf(one.set_by)} /> · <Ago at={one.set_at} />
              {one.reason && (
                <>
                  {' '}
                  · <Untrusted text={one.reason} />
                </>
              )}
            </span>
            <Button
              size="small"
              tone="quiet"
              aria-expanded={open === one.version}
              onClick={() => setOpen(open === one.version ? undefined : one.version)}
            >
              Show changes
            </Button>
            {one.version !== current && (
              <Button
                size="small"
                disabledReason={bar}
                onClick={() => !back.isPending && back.mutate(one.version)}
              >
                Roll back to {one.version}
              </Button>
            )}
          </div>
          {open === one.version && <Difference agent={agent.id} version={one.version} />}
        </li>
      ))}
      {data.items.length === 0 && <li className="py-2 text-ink-2">No versions yet.</li>}
    </ol>
  );
}

export function ConfigCard({ agent, nameOf }: { agent: Agent; nameOf: NameOf }) {
  const me = useMe();
  const isOpen = agent.owner_id === me.id || me.roles.includes('admin');
  const { data, error } = useQuery({ ...configQuery(agent.id), enabled: isOpen });
  return (
    <Card
      title="Configuration"
      aside={data && <span className="text-meta text-ink-2">version {data.version}</span>}
    >
      {data ? (
        <div className="space-y-4">
          <Editor key={data.version} agent={agent} config={data} />
          <Versions agent={agent} current={data.version} nameOf={nameOf} />
        </div>
      ) : isOpen ? (
        <CardWait error={error} />
      ) : (
        <p className="text-ink-2">Its owner and admins can read and change the configuration.</p>
      )}
    </Card>
  );
}
