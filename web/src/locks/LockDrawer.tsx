import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { toast } from 'sonner';
import { api, taken } from '@/api/client';
import { Refused } from '@/api/problem';
import { lockQuery } from '@/api/queries';
import { useOperateBar } from '@/shell/useOperateBar';
import { Button } from '@/ui/Button';
import { CardWait } from '@/ui/Card';
import { Dialog } from '@/ui/Dialog';
import { Ago } from '@/ui/Time';
import { Holder, type NameOf, TimeLeft } from './LeaseLine';
import type { Lock } from './queries';

function Break({ lock, onDone }: { lock: Lock; onDone: () => void }) {
  const client = useQueryClient();
  const bar = useOperateBar();
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [key] = useState(() => crypto.randomUUID());
  const [nameField, reasonField] = [useId(), useId()];
  const at = lock.resource.indexOf(':');
  const path = { type: lock.resource.slice(0, at), id: lock.resource.slice(at + 1) };
  const send = useMutation({
    mutationFn: () =>
      taken(
        api.POST('/v1/locks/{type}/{id}/break', {
          params: { path, header: { 'Idempotency-Key': key } },
          body: { reason: reason.trim() },
        }),
      ),
    onSuccess: (broken) => {
      toast.success(`Broke ${broken.leases.length} on ${broken.resource}`);
      onDone();
    },
    onError: (error) =>
      toast.error(
        error instanceof Refused
          ? `${error.problem.title}. ${error.problem.next_action.says}`
          : 'No answer came. Look again before you try once more.',
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['locks'] }),
  });
  const barred =
    bar ??
    (typed.trim() !== lock.resource
      ? `Type ${lock.resource} first.`
      : reason.trim()
        ? undefined
        : 'Say why first.');
  const tokens = lock.holders.flatMap(({ token }) => (token ? [token] : []));
  const field =
    'mt-1.5 h-9 w-full rounded-control border border-line-strong bg-surface px-3 max-md:h-11';
  return (
    <form
      className="space-y-3 border-t border-line p-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred && !send.isPending) send.mutate();
      }}
    >
      <h3 className="font-semibold">Break the lock</h3>
      <p className="text-meta text-ink-2">
        {lock.holding === 1 ? 'Its holder loses it' : `Its ${lock.holding} holders lose it`}
        {tokens.length > 0 &&
          `, and what comes with token ${tokens.join(', ')} is refused from then on`}
        .{' '}
        {lock.waiting === 0
          ? 'Nobody waits for it.'
          : `The first of ${lock.waiting} in line is served next.`}
      </p>
      <div>
        <label htmlFor={nameField} className="font-medium">
          Type <code className="font-mono">{lock.resource}</code>
        </label>
        <input
          id={nameField}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
          className={`${field} font-mono`}
        />
      </div>
      <div>
        <label htmlFor={reasonField} className="font-medium">
          Why
        </label>
        <input
          id={reasonField}
          value={reason}
          maxLength={4096}
          onChange={(event) => setReason(event.target.value)}
          className={field}
        />
      </div>
      <Button type="submit" tone="danger" barred={barred}>
        {send.isPending ? 'Breaking…' : 'Break lock'}
      </Button>
    </form>
  );
}

/** One resource: who has it, who stands in line, and the way to take it from its holder. */
export default function LockDrawer({
  resource,
  nameOf,
  onClose,
}: {
  resource: string;
  nameOf: NameOf;
  onClose: () => void;
}) {
  const { data, error } = useQuery(lockQuery(resource));
  return (
    <Dialog isOpen onClose={onClose} title={resource} size="drawer">
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="space-y-5 p-5">
          {data === undefined && <CardWait error={error} />}
          {data === null && <p className="text-ink-2">It is free now.</p>}
          {data && (
            <>
              <section>
                <h3 className="font-semibold">Held by {data.holding}</h3>
                <ul className="mt-2 space-y-2">
                  {data.holders.map((lease) => (
                    <li key={lease.lease_hash} className="card px-3 py-2">
                      <div className="flex flex-wrap items-center justify-between gap-2">
                        <Holder lease={lease} nameOf={nameOf} />
                        <TimeLeft lease={lease} />
                      </div>
                      <p className="mt-1 text-meta text-ink-2">
                        since <Ago at={lease.since} /> ·{' '}
                        {lease.fenced ? `token ${lease.token ?? '?'}` : 'advisory, not fenced'}
                      </p>
                    </li>
                  ))}
                </ul>
              </section>
              <section>
                <h3 className="font-semibold">In line: {data.waiting}</h3>
                <ol className="mt-2 space-y-1" data-queue>
                  {data.queue.map((lease, index) => (
                    <li key={lease.lease_hash} className="flex gap-3">
                      <span className="w-6 text-ink-3">#{index + 1}</span>
                      <Holder lease={lease} nameOf={nameOf} />
                      <span className="text-meta text-ink-2">
                        since <Ago at={lease.since} />
                      </span>
                    </li>
                  ))}
                </ol>
                {data.queue.length === 0 && <p className="mt-1 text-ink-2">Nobody.</p>}
              </section>
            </>
          )}
        </div>
        {data && data.holding > 0 && <Break lock={data} onDone={onClose} />}
      </div>
    </Dialog>
  );
}
