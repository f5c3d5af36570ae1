import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, taken } from '@/api/client';
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

/** Who has it, if it is just one: it must not be taken from whoever comes after them. */
const soleHolder = ({ holding, holders }: Lock) =>
  holding === 1 ? holders[0]?.lease_hash : undefined;

function Break({ lock, onDone }: { lock: Lock; onDone: () => void }) {
  const bar = useOperateBar();
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const send = useSend({
    send: (why: string, key) =>
      taken(
        api.POST('/v1/locks/{type}/{id}/break', {
          params: { path: resourcePath(lock.resource), header: { 'Idempotency-Key': key } },
          body: { reason: why, lease_hash: soleHolder(lock) },
        }),
      ),
    touches: 'locks',
    onDone: (broken) => {
      toast.success(`Broke ${broken.leases.length} on ${broken.resource}`);
      onDone();
    },
  });
  const barred =
    bar ??
    (typed.trim() !== lock.resource
      ? `Type ${lock.resource} first.`
      : reason.trim()
        ? undefined
        : 'Say why first.');
  const tokens = lock.holders.flatMap(({ token }) => (token ? [token] : []));
  return (
    <form
      className="space-y-3 border-t border-line p-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred) send.go(reason.trim());
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
      <Field
        label={`Type ${lock.resource}`}
        value={typed}
        spellCheck={false}
        onChange={setTyped}
        className="font-mono"
      />
      <Field label="Why" value={reason} onChange={setReason} />
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
  const { data, error } = useQuery({ ...lockQuery(resource), refetchInterval: LOOK_MS });
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
        {data && data.holding > 0 && (
          // What was typed was meant for the holder who was there.
          <Break key={soleHolder(data) ?? 'all'} lock={data} onDone={onClose} />
        )}
      </div>
    </Dialog>
  );
}
