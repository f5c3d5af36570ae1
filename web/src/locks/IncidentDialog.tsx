import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { toast } from 'sonner';
import { api, taken } from '@/api/client';
import { Refused } from '@/api/problem';
import { serverNow } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Dialog';

const LENGTHS = [
  [15, '15 minutes'],
  [60, 'an hour'],
  [240, 'four hours'],
  [1440, 'a day'],
] as const;
const RESOURCE = /^[a-z][a-z0-9_.-]*:\S+$/;

/** Keeps everybody else away from resources for a while, because a person works on them. */
export function IncidentDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [names, setNames] = useState('');
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState(60);
  const [key] = useState(() => crypto.randomUUID());
  const [a, b, c] = [useId(), useId(), useId()];
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
  const send = useMutation({
    mutationFn: () =>
      taken(
        api.POST('/v1/locks/incidents', {
          params: { header: { 'Idempotency-Key': key } },
          body: {
            resources,
            reason: reason.trim(),
            ends_at: new Date(serverNow() + minutes * 60_000).toISOString(),
          },
        }),
      ),
    onSuccess: () => {
      toast.success(`Locked ${resources.join(', ')}`);
      onClose();
    },
    onError: (error) =>
      toast.error(
        error instanceof Refused
          ? `${error.problem.title}. ${error.problem.next_action.says}`
          : 'No answer came. Look at the list before you try again.',
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['locks'] }),
  });
  const field =
    'mt-1.5 h-9 w-full rounded-control border border-line-strong bg-surface px-3 max-md:h-11';
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
          if (!barred && !send.isPending) send.mutate();
        }}
      >
        <div>
          <label htmlFor={a} className="font-medium">
            Resources
          </label>
          <input
            id={a}
            value={names}
            placeholder="database:shop service:checkout"
            spellCheck={false}
            onChange={(event) => setNames(event.target.value)}
            className={`${field} font-mono`}
          />
        </div>
        <div>
          <label htmlFor={b} className="font-medium">
            Why
          </label>
          <input
            id={b}
            value={reason}
            maxLength={4096}
            placeholder="INC-441: looking at checkout"
            onChange={(event) => setReason(event.target.value)}
            className={field}
          />
        </div>
        <div>
          <label htmlFor={c} className="font-medium">
            For
          </label>
          <select
            id={c}
            value={minutes}
            onChange={(event) => setMinutes(Number(event.target.value))}
            className={field}
          >
            {LENGTHS.map(([length, word]) => (
              <option key={length} value={length}>
                {word}
              </option>
            ))}
          </select>
        </div>
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
