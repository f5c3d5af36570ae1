import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { VERDICTS } from '@/policies/verdict';
import { useMe } from '@/session/session';
import { useAdminBar } from '@/shell/bars';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { Field } from '@/ui/Field';
import { LINK } from '@/ui/look';
import { Named } from '@/ui/Named';
import { Refusal } from '@/ui/Refusal';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { type PendingChange, waits } from './pending';
import { mayObject, publishBar, titleOf } from './words';

interface Props {
  change: PendingChange;
  nameOf: (id: string) => string;
}

/** What the change means for approvals. */
export function Findings({ change: { findings, tasks } }: { change: PendingChange }) {
  return (
    <>
      <ul aria-label="Consequences" className="space-y-1.5">
        {findings.map(({ verdict, sentence }, index) => (
          <li key={index} className="flex items-start gap-2">
            <Chip tone={VERDICTS[verdict].tone} sign={VERDICTS[verdict].sign} value={verdict}>
              {verdict}
            </Chip>
            <span className="min-w-0 pt-0.5 wrap-anywhere">
              <Untrusted text={sentence} />
            </span>
          </li>
        ))}
      </ul>
      {tasks.length > 0 && (
        <div>
          <h3 className="font-medium">Recent tasks that would have needed fewer people</h3>
          <ul className="divide-y divide-line">
            {tasks.map(({ task_id: id, number, title, before, after }) => (
              <li key={id} className="py-1.5">
                <Link to="/tasks/$id" params={{ id }} search={{}} className={LINK}>
                  T-{number}
                </Link>{' '}
                <Named text={title} />
                <p className="text-meta text-ink-2">
                  <Untrusted text={`${before} → ${after}`} />
                </p>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function Objection({ change, onClose }: { change: PendingChange; onClose: () => void }) {
  const bar = useWriteBar();
  const [reason, setReason] = useState('');
  const object = useSend({
    send: (body: { reason: string }, key) =>
      unwrap(
        api.POST('/v1/pending-changes/{id}/object', {
          params: { path: { id: change.id }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'changes',
  });
  const disabledReason =
    bar ?? object.bar ?? (reason.trim() ? undefined : 'Enter a reason. Everyone can read it.');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!disabledReason) object.go({ reason: reason.trim() });
  };
  return (
    <form className="space-y-2" onSubmit={submit}>
      <Field
        label="Why do you object?"
        says="The change is then closed and does not take effect."
        value={reason}
        onChange={setReason}
      />
      <Refusal error={object.error} />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" tone="danger" disabledReason={disabledReason}>
          {object.isPending ? 'Objecting…' : 'Object'}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

/** An open change: its consequences, what it waits for, and what the reader can do. */
export function ChangeCard({ change, nameOf }: Props) {
  const client = useQueryClient();
  const me = useMe();
  const adminBar = useAdminBar();
  const writeBar = useWriteBar();
  const [isObjecting, setObjecting] = useState(false);
  const title = titleOf(change, nameOf);
  const at = (key: string) => ({
    params: { path: { id: change.id }, header: { 'Idempotency-Key': key } },
  });
  const publish = useSend({
    send: (_id: string, key) => unwrap(api.POST('/v1/pending-changes/{id}/publish', at(key))),
    touches: 'changes',
    onDone: () => {
      toast.success(`Published: ${title}`);
      // The change may concern any page.
      void client.invalidateQueries();
    },
  });
  const withdraw = useSend({
    send: (_id: string, key) => unwrap(api.DELETE('/v1/pending-changes/{id}', at(key))),
    touches: 'changes',
  });
  const isMine = change.proposed_by === me.id;
  const publishReason = adminBar ?? publishBar(change, me);
  return (
    <Card
      title={title}
      aside={
        <span className="text-meta text-ink-2">
          <Named text={nameOf(change.proposed_by)} /> · <Ago at={change.proposed_at} />
        </span>
      }
    >
      <div className="space-y-3" data-change={change.kind}>
        {change.reason && (
          <p>
            “<Untrusted text={change.reason} />”
          </p>
        )}
        <Findings change={change} />
        <p className="font-medium first-letter:uppercase">{waits(change)}</p>
        <Refusal error={publish.error ?? withdraw.error} />
        <div className="flex flex-wrap items-center gap-2">
          <Button
            tone="primary"
            disabledReason={publishReason ?? publish.bar}
            onClick={() => publish.go(change.id)}
          >
            {publish.isPending ? 'Publishing…' : 'Publish'}
          </Button>
          <Button
            tone="quiet"
            disabledReason={(isMine ? writeBar : adminBar) ?? withdraw.bar}
            onClick={() => withdraw.go(change.id)}
          >
            Withdraw
          </Button>
          {mayObject(change, me) && (
            <Button aria-expanded={isObjecting} onClick={() => setObjecting(!isObjecting)}>
              Object…
            </Button>
          )}
          {publishReason && <span className="text-meta text-ink-2">{publishReason}</span>}
        </div>
        {isObjecting && <Objection change={change} onClose={() => setObjecting(false)} />}
      </div>
    </Card>
  );
}
