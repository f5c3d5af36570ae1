import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { Refused } from '@/api/problem';
import { refetch } from '@/api/refetch';
import { errorMessage } from '@/api/errorMessage';
import type { Row } from '@/inbox/rows';
import { ChangeLines, EffectHead } from '@/review/EffectHead';
import { Button } from '@/ui/Button';
import { Cancel, Dialog } from '@/ui/Dialog';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { Risk } from '@/ui/Risk';
import { Trouble } from '@/ui/Trouble';
import {
  type Group,
  groupsOf,
  itemOf,
  judged,
  type Left,
  type Ready,
  type Verdict,
} from './groups';
import { usePreflight } from './usePreflight';

interface Props {
  action: 'approve' | 'reject';
  rows: readonly Row[];
  onClose: () => void;
  onDone: () => void;
}

const VERB = { approve: 'Approve', reject: 'Reject' } as const;

function GroupCard({
  group,
  isSeen,
  onSeen,
}: {
  group: Group;
  isSeen: boolean;
  onSeen: () => void;
}) {
  const [sample] = group.items;
  if (!sample) return null;
  return (
    <details
      className="card"
      onToggle={(event) => {
        if (event.currentTarget.open) onSeen();
      }}
    >
      <summary className="flex min-h-11 cursor-pointer items-center gap-3 px-4 py-2">
        <strong className="font-semibold">{group.items.length} ×</strong>
        <span className="min-w-0 flex-1 truncate font-mono text-meta">{sample.task.type}</span>
        <Risk level={sample.task.risk.level} score={sample.task.risk.score} />
        <span className="text-meta text-ink-3">{isSeen ? '✓ reviewed' : 'review sample'}</span>
      </summary>
      <div className="space-y-3 border-t border-line p-4">
        <EffectHead effect={sample.task.effect} resources={sample.task.resources} level={2} />
        <ChangeLines effect={sample.task.effect} max={8} />
        <ul className="space-y-1 text-meta text-ink-2">
          {group.items.map(({ row }) => (
            <li key={row.key} className="truncate">
              <span className="font-mono text-ink-3">T-{row.number}</span>{' '}
              <Named text={row.title} />
            </li>
          ))}
        </ul>
      </div>
    </details>
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
            <span className="min-w-0 flex-1 text-ink-2">{because}</span>
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

/** Dialog before a batch is sent: the server's check of each item and one sample per kind to
 *  review. The batch is sent as a whole. */
export default function BatchDrawer({ action, rows, onClose, onDone }: Props) {
  const preflight = usePreflight(action, rows);
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState('');
  const { send, refused } = useBatch(action, onDone);
  const field = useId();
  const first = preflight.kind === 'judged' ? preflight : { ready: [], left: [] };
  const after = judged(first.ready, refused);
  const groups = groupsOf(after.ready);
  const unseen = groups.filter(({ shape }) => !seen.has(shape)).length;
  const needsReason = action === 'reject' && reason.trim() === '';
  const disabledReason =
    after.ready.length === 0
      ? 'No tasks left to send.'
      : unseen > 0
        ? `Review one sample of each kind first: ${unseen} left.`
        : needsReason
          ? 'Enter a reason.'
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
      <div className="min-h-0 flex-1 space-y-4 overflow-y-auto p-5" data-preflight={preflight.kind}>
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
        {groups.map((group) => (
          <GroupCard
            key={group.shape}
            group={group}
            isSeen={seen.has(group.shape)}
            onSeen={() => setSeen((before) => new Set([...before, group.shape]))}
          />
        ))}
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
