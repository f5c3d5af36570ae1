import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { lockQuery, resourcePath } from '@/api/queries';
import { useOperateBar } from '@/shell/bars';
import { Button } from '@/ui/Button';
import { CardWait } from '@/ui/Card';
import { Field } from '@/ui/Field';
import { Dialog } from '@/ui/Dialog';
import { Ago } from '@/ui/Time';
import { Holder, type NameOf, TimeLeft } from './LeaseLine';
import { type Lock, LOOK_MS } from './queries';

/** Lease of the only holder, if there is exactly one: a break must not affect a later holder. */
const soleHolder = ({ holding, holders }: Lock) =>
  holding === 1 ? holders[0]?.lease_hash : undefined;

function Break({ lock, onDone }: { lock: Lock; onDone: () => void }) {
  const bar = useOperateBar();
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const send = useSend({
    send: (why: string, key) =>
      unwrap(
        api.POST('/v1/locks/{type}/{id}/break', {
          params: { path: resourcePath(lock.resource), header: { 'Idempotency-Key': key } },
          body: { reason: why, lease_hash: soleHolder(lock) },
        }),
      ),
    touches: 'locks',
    onDone: (broken) => {
      const count = broken.leases.length;
      toast.success(`Broke ${count} ${count === 1 ? 'lease' : 'leases'} on ${broken.resource}`);
      onDone();
    },
  });
  const disabledReason =
    bar ??
    (typed.trim() !== lock.resource
      ? `Type ${lock.resource} to confirm.`
      : reason.trim()
        ? undefined
        : 'Enter a reason.');
  const tokens = lock.holders.flatMap(({ fence }) => (fence ? [fence] : []));
  return (
    <form
      className="space-y-3 border-t border-line p-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (!disabledReason) send.go(reason.trim());
      }}
    >
      <h3 className="font-semibold">Break the lock</h3>
      <p className="text-meta text-ink-2">
        {lock.holding === 1
          ? 'The holder loses the lock'
          : `All ${lock.holding} holders lose the lock`}
        {tokens.length > 0 &&
          `, and writes with fencing token ${tokens.join(', ')} are rejected from then on`}
        .{' '}
        {lock.waiting === 0
          ? 'No one is waiting for it.'
          : `The first of ${lock.waiting} waiting requests gets it next.`}
      </p>
      <Field
        label={`Type ${lock.resource} to confirm`}
        value={typed}
        spellCheck={false}
        onChange={setTyped}
        className="font-mono"
      />
      <Field label="Reason" value={reason} onChange={setReason} />
      <Button type="submit" tone="danger" disabledReason={disabledReason}>
        {send.isPending ? 'Breaking…' : 'Break lock'}
      </Button>
    </form>
  );
}

/** One resource: its holders, its queue, and the form that breaks the lock. */
export default function LockDrawer({
  resource,
  nameOf,
  onClose,
}: {
  resource: string;
  nameOf: NameOf;
  onClose: () => void;
}) {
  const { data, error } = useQuery({ ...lockQuery(resource), refetchInterval: LOOK_MS });
  return (
    <Dialog isOpen onClose={onClose} title={resource} size="drawer">
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="space-y-5 p-5">
          {data === undefined && <CardWait error={error} />}
          {data === null && <p className="text-ink-2">The lock is free.</p>}
          {data && (
            <>
              <section>
                <h3 className="font-semibold">Holders: {data.holding}</h3>
                <ul className="mt-2 space-y-2">
                  {data.holders.map((lease) => (
                    <li key={lease.lease_hash} className="card px-3 py-2">
                      <div className="flex flex-wrap items-center justify-between gap-2">
                        <Holder lease={lease} nameOf={nameOf} />
                        <TimeLeft lease={lease} />
                      </div>
                      <p className="mt-1 text-meta text-ink-2">
                        since <Ago at={lease.since} /> ·{' '}
                        {lease.fenced ? `token ${lease.fence ?? '?'}` : 'advisory, not fenced'}
                      </p>
                    </li>
                  ))}
                </ul>
              </section>
              <section>
                <h3 className="font-semibold">Queue: {data.waiting}</h3>
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
                {data.queue.length === 0 && <p className="mt-1 text-ink-2">No one is waiting.</p>}
              </section>
            </>
          )}
        </div>
        {data && data.holding > 0 && (
          // The typed confirmation was meant for the previous holder.
          <Break key={soleHolder(data) ?? 'all'} lock={data} onDone={onClose} />
        )}
      </div>
    </Dialog>
  );
}
