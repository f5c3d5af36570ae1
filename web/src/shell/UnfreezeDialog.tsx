import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import type { Freeze } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { Button } from '@/ui/Button';
import { CardWait } from '@/ui/Card';
import { Cancel, Dialog } from '@/ui/Dialog';
import { Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Risk } from '@/ui/Risk';
import { Untrusted } from '@/ui/Untrusted';

/** Tasks listed in the dialog; there may be more. */
const LISTED = 20;

function useHeld() {
  return useQuery({
    queryKey: ['tasks', 'held'],
    queryFn: () =>
      unwrap(
        api.GET('/v1/tasks', { params: { query: { state: ['APPROVED'], page_size: LISTED } } }),
      ),
    staleTime: 0,
  });
}

/** Approved tasks, which can start as soon as the freeze ends. */
function Held() {
  const { data, error } = useHeld();
  if (!data) return <CardWait error={error} room="h-10" />;
  const { items, next_page_token: more } = data;
  if (items.length === 0) return <p className="text-ink-2">No approved task is waiting.</p>;
  return (
    <>
      <p className="font-medium">
        {more
          ? `More than ${items.length} approved tasks can start at once:`
          : `${items.length} approved ${items.length === 1 ? 'task' : 'tasks'} can start at once:`}
      </p>
      <ul className="mt-1.5 max-h-56 space-y-1 overflow-y-auto" data-held={items.length}>
        {items.map((task) => (
          <li key={task.id} className="flex items-center gap-3">
            <span className="w-14 shrink-0 font-mono text-meta text-ink-3">T-{task.number}</span>
            <span className="min-w-0 flex-1 wrap-anywhere">
              <span className="font-mono text-meta">
                <Untrusted text={task.type} />
              </span>{' '}
              <span className="text-ink-2">
                “<Named text={task.title} />”
              </span>
            </span>
            <Risk level={task.risk.level} score={task.risk.score} />
          </li>
        ))}
      </ul>
      {more && <p className="pt-1 text-meta text-ink-3">and more, on the page Tasks</p>}
    </>
  );
}

interface Props {
  freeze: Freeze;
  onClose: () => void;
}

/** Asks before a freeze ends: what can start, and why it may. */
export function UnfreezeDialog({ freeze, onClose }: Props) {
  const [reason, setReason] = useState('');
  const { isPending: isReading, isError } = useHeld();
  const lift = useSend({
    send: (why: string, key) =>
      unwrap(
        api.DELETE('/v1/freezes/{id}', {
          params: {
            path: { id: freeze.id },
            query: { reason: why },
            header: { 'Idempotency-Key': key },
          },
        }),
      ),
    touches: 'freezes',
    onAccepted: onClose,
  });
  const disabledReason =
    isReading || isError
      ? 'The waiting tasks are still being loaded.'
      : reason.trim() === ''
        ? 'Enter a reason. Everyone can read it.'
        : lift.bar;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Unfreeze applies?"
      says="Agents apply what is approved as soon as the freeze ends."
    >
      <form
        className="grid min-h-0 gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (!disabledReason) lift.go(reason.trim());
        }}
      >
        <p className="text-ink-2">
          {freeze.target ? (
            <span className="font-mono text-meta">
              <Untrusted text={freeze.target} />
            </span>
          ) : (
            'All resources'
          )}{' '}
          · frozen because: <Untrusted text={freeze.reason} />
        </p>
        <div>
          <Held />
        </div>
        <Field
          label="Why can applies start again?"
          value={reason}
          placeholder="INC-441 is resolved"
          onChange={setReason}
        />
        <div className="flex justify-end gap-2">
          <Cancel />
          <Button type="submit" tone="primary" disabledReason={disabledReason}>
            {lift.isPending ? 'Unfreezing…' : 'Unfreeze'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
