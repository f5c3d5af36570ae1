import { useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { serverNow } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Choice, Field } from '@/ui/Field';
import { Cancel, Dialog } from '@/ui/Dialog';

const LENGTHS = [
  ['15', '15 minutes'],
  ['60', '1 hour'],
  ['240', '4 hours'],
  ['1440', '1 day'],
] as const;
type Length = (typeof LENGTHS)[number][0];
const RESOURCE = /^[a-z][a-z0-9_.-]*:\S+$/;

/** Takes a lock for an operator, so that no agent changes the resources during an incident. */
export function IncidentDialog({ onClose }: { onClose: () => void }) {
  const [names, setNames] = useState('');
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState<Length>('60');
  const resources = names.split(/[\s,]+/).filter(Boolean);
  const wrong = resources.find((one) => !RESOURCE.test(one));
  const disabledReason =
    resources.length === 0
      ? 'Enter a resource.'
      : wrong
        ? `“${wrong}” is not in the form type:id.`
        : reason.trim()
          ? undefined
          : 'Enter a reason.';
  const send = useSend({
    send: (input: { resources: string[]; reason: string; minutes: number }, key) =>
      unwrap(
        api.POST('/v1/locks/incidents', {
          params: { header: { 'Idempotency-Key': key } },
          body: {
            resources: input.resources,
            reason: input.reason,
            ends_at: new Date(serverNow() + input.minutes * 60_000).toISOString(),
          },
        }),
      ),
    touches: 'locks',
    onDone: () => {
      toast.success(`Locked ${resources.join(', ')}`);
      onClose();
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Take an incident lock"
      says="Agents wait until the lock ends. You get all of the resources or none."
    >
      <form
        className="space-y-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (!disabledReason)
            send.go({ resources, reason: reason.trim(), minutes: Number(minutes) });
        }}
      >
        <Field
          label="Resources"
          value={names}
          placeholder="database:shop service:checkout"
          spellCheck={false}
          onChange={setNames}
          className="font-mono"
        />
        <Field
          label="Reason"
          value={reason}
          placeholder="INC-441: looking at checkout"
          onChange={setReason}
        />
        <Choice label="Duration" value={minutes} choices={LENGTHS} onChange={setMinutes} />
        <div className="flex items-center justify-end gap-2">
          {disabledReason && <span className="flex-1 text-meta text-ink-2">{disabledReason}</span>}
          <Cancel />
          <Button type="submit" tone="primary" disabledReason={disabledReason}>
            {send.isPending ? 'Locking…' : 'Take lock'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
