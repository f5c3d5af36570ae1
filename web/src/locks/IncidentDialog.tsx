import { useState } from 'react';
import { toast } from 'sonner';
import { api, taken } from '@/api/client';
import { useSend } from '@/api/useSend';
import { serverNow } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Choice, Field } from '@/ui/Field';
import { Dialog } from '@/ui/Dialog';

const LENGTHS = [
  ['15', '15 minutes'],
  ['60', 'an hour'],
  ['240', 'four hours'],
  ['1440', 'a day'],
] as const;
type Length = (typeof LENGTHS)[number][0];
const RESOURCE = /^[a-z][a-z0-9_.-]*:\S+$/;

/** Keeps everybody else away from resources for a while, because a person works on them. */
export function IncidentDialog({ onClose }: { onClose: () => void }) {
  const [names, setNames] = useState('');
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState<Length>('60');
  const resources = names.split(/[\s,]+/).filter(Boolean);
  const wrong = resources.find((one) => !RESOURCE.test(one));
  const barred =
    resources.length === 0
      ? 'Name a resource first.'
      : wrong
        ? `“${wrong}” is not type:id.`
        : reason.trim()
          ? undefined
          : 'Say why first.';
  const send = useSend({
    send: (input: { resources: string[]; reason: string; minutes: number }, key) =>
      taken(
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
      title="Take a lock for an incident"
      says="Agents wait until it ends. You get all of the resources or none."
    >
      <form
        className="space-y-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (!barred) send.go({ resources, reason: reason.trim(), minutes: Number(minutes) });
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
          label="Why"
          value={reason}
          placeholder="INC-441: looking at checkout"
          onChange={setReason}
        />
        <Choice label="For" value={minutes} choices={LENGTHS} onChange={setMinutes} />
        <div className="flex items-center justify-end gap-2">
          {barred && <span className="flex-1 text-meta text-ink-2">{barred}</span>}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" barred={barred}>
            {send.isPending ? 'Locking…' : 'Take lock'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
