import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { Refused } from '@/api/problem';
import { refetch } from '@/api/refetch';
import { errorMessage } from '@/api/errorMessage';
import type { Row } from '@/inbox/rows';
import { ReadingArea, useReading } from '@/reading/react';
import { Content } from '@/review/Content';
import { EffectHead } from '@/review/EffectHead';
import { Button } from '@/ui/Button';
import { Cancel, Dialog } from '@/ui/Dialog';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Risk } from '@/ui/Risk';
import { Trouble } from '@/ui/Trouble';
import { itemOf, judged, type Left, type Ready, type Verdict } from './groups';
import { usePreflight } from './usePreflight';

interface Props {
  action: 'approve' | 'reject';
  rows: readonly Row[];
  onClose: () => void;
  onDone: () => void;
}

const VERB = { approve: 'Approve', reject: 'Reject' } as const;

/** One task with everything that its digest covers. All tasks of a batch make the same change, so
 *  that they can be compared; none is shown by its title alone. */
function Item({ item }: { item: Ready }) {
  const { row, task } = item;
  return (
    <li className="card space-y-3 p-4" data-item={task.id}>
      <div className="flex items-start gap-3">
        <span className="pt-0.5 font-mono text-meta text-ink-3">T-{row.number}</span>
        <div className="min-w-0 flex-1">
          <EffectHead shown={task} level={2} />
        </div>
        <Risk level={task.risk.level} score={task.risk.score} />
      </div>
      <Content shown={task} />
      <p className="text-meta text-ink-3">
        The author says: <Named text={row.title} />
      </p>
    </li>
  );
}

function LeftOut({ left }: { left: readonly Left[] }) {
  if (left.length === 0) return null;
  return (
    <section>
      <h3 className="font-semibold">Left out: {left.length}</h3>
      <ul className="mt-2 space-y-1.5">
        {left.map(({ row, because }) => (
          <li key={row.key} className="flex gap-3 text-meta">
            <span className="w-14 shrink-0 font-mono text-ink-3">T-{row.number}</span>
            <span className="min-w-0 flex-1 wrap-anywhere">
              <Named text={row.title} />
              <span className="block text-ink-2">{because}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function useBatch(action: Props['action'], onDone: () => void) {
  const client = useQueryClient();
  const [key] = useState(() => crypto.randomUUID());
  const [refused, setRefused] = useState<readonly Verdict[]>([]);
  const send = useMutation({
    mutationFn: ({ items, reason }: { items: readonly Ready[]; reason: string }) =>
      unwrap(
        api.POST('/v1/approvals/batch', {
          // A different set of items is a different batch.
          params: { header: { 'Idempotency-Key': `${key}-${items.length}` } },
          body: { action, items: items.map(itemOf), ...(reason ? { reason } : {}) },
        }),
      ),
    onSuccess: (answer) => {
      toast.success(
        `${action === 'approve' ? 'Approved' : 'Rejected'} ${answer.items.length} tasks together`,
      );
      void refetch(client, { queryKey: ['inbox'] });
      void refetch(client, { queryKey: ['task'] });
      onDone();
    },
    onError: (error) => {
      if (!(error instanceof Refused && error.is('batch_refused'))) return;
      setRefused((error.problem as unknown as { items?: Verdict[] }).items ?? []);
    },
  });
  return { send, refused };
}

/** Dialog before a batch is sent: the server's check of each item, and its content. The batch is
 *  sent as a whole. */
export default function BatchDrawer({ action, rows, onClose, onDone }: Props) {
  const preflight = usePreflight(action, rows);
  const [reason, setReason] = useState('');
  const { send, refused } = useBatch(action, onDone);
  const field = useId();
  const first = preflight.kind === 'judged' ? preflight : { ready: [], left: [] };
  const after = judged(first.ready, refused);
  const { reading, bar: unread } = useReading(after.ready.map(({ task }) => task.digest).join());
  const needsReason = action === 'reject' && reason.trim() === '';
  const disabledReason =
    after.ready.length === 0
      ? 'No tasks left to send.'
      : needsReason
        ? 'Enter a reason.'
        : action === 'approve'
          ? unread
          : undefined;
  const summary =
    preflight.kind === 'reading'
      ? `Checking ${preflight.done} of ${rows.length}…`
      : `${after.ready.length} ready, ${first.left.length + after.left.length} left out. ` +
        'Nothing is recorded yet.';
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`${VERB[action]} ${rows.length} tasks`}
      says={summary}
      size="drawer"
    >
      <div
        className="min-h-0 flex-1 space-y-4 overflow-y-auto p-5"
        tabIndex={0}
        role="group"
        aria-label="Tasks"
        data-preflight={preflight.kind}
      >
        {preflight.kind === 'failed' && <Trouble error={preflight.error} />}
        {send.isError && (
          <p
            role="alert"
            className="rounded-card border border-high-mark bg-high-soft px-4 py-2.5 text-high"
          >
            {refused.length > 0
              ? 'Nothing was recorded, because some votes would be refused. They are now left out.'
              : send.error instanceof Refused
                ? errorMessage(send.error)
                : 'No response. It is safe to send the batch again.'}
          </p>
        )}
        <ReadingArea reading={reading}>
          <ul className="space-y-4">
            {after.ready.map((item) => (
              <Item key={item.row.key} item={item} />
            ))}
          </ul>
        </ReadingArea>
        <LeftOut left={[...first.left, ...after.left]} />
      </div>
      <form
        className="space-y-3 border-t border-line p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (!disabledReason && !send.isPending)
            send.mutate({ items: after.ready, reason: reason.trim() });
        }}
      >
        <label htmlFor={field} className="font-medium">
          Reason{' '}
          {action === 'approve' && <span className="font-normal text-ink-3">(optional)</span>}
        </label>
        <input
          id={field}
          value={reason}
          maxLength={4096}
          onChange={(event) => setReason(event.target.value)}
          className={classes(
            'mt-1 h-9 w-full rounded-control border border-line-strong bg-surface px-3',
            'max-md:h-11',
          )}
        />
        {disabledReason && preflight.kind === 'judged' && (
          <p className="text-meta text-ink-2">{disabledReason}</p>
        )}
        <div className="flex justify-end gap-2">
          <Cancel />
          <Button
            type="submit"
            tone={action === 'approve' ? 'primary' : 'danger'}
            disabledReason={disabledReason}
          >
            {send.isPending ? 'Recording…' : `${VERB[action]} ${after.ready.length}`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
