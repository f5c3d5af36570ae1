import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { type Freeze, freezesQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { Proposed } from '@/changes/Proposed';
import { useOperateBar } from '@/shell/bars';
import { UnfreezeDialog } from '@/shell/UnfreezeDialog';
import { useTitle } from '@/shell/useTitle';
import { serverNow } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Choice, Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Ago, Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { FormCard, ListCard, ROW } from './parts';

type Scope = Schemas['FreezeScope'];

const SCOPES = [
  ['tenant', 'Everything'],
  ['environment', 'One environment'],
  ['resources', 'Some resources'],
] as const;

const LENGTHS = [
  ['', 'Until lifted'],
  ['1', '1 hour'],
  ['8', '8 hours'],
  ['72', '3 days'],
] as const;

function One({ freeze, nameOf }: { freeze: Freeze; nameOf: (id: string) => string }) {
  const bar = useOperateBar();
  const [isLifting, setLifting] = useState(false);
  return (
    <li className={ROW} data-freeze={freeze.id}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <strong className="font-medium">
          <Untrusted text={freeze.target ?? 'Everything'} />
        </strong>{' '}
        · <Untrusted text={freeze.reason} />
        <span className="block text-meta text-ink-2">
          <Named text={nameOf(freeze.set_by)} /> · <Ago at={freeze.set_at} />
          {freeze.lifted_by && (
            <>
              {' '}
              · lifted by <Named text={nameOf(freeze.lifted_by)} />
            </>
          )}
        </span>
      </span>
      {freeze.in_force ? (
        <>
          {freeze.ends_at && (
            <span className="text-meta text-ink-2">
              ends in <Due at={freeze.ends_at} />
            </span>
          )}
          <Button size="small" disabledReason={bar} onClick={() => setLifting(true)}>
            Unfreeze…
          </Button>
          {isLifting && <UnfreezeDialog freeze={freeze} onClose={() => setLifting(false)} />}
        </>
      ) : (
        <Chip tone="quiet" sign="⊘">
          Ended
        </Chip>
      )}
      <Proposed kinds={/^freeze\./} object={freeze.id} />
    </li>
  );
}

function NewFreeze() {
  const bar = useOperateBar();
  const [scope, setScope] = useState<Scope>('tenant');
  const [target, setTarget] = useState('');
  const [reason, setReason] = useState('');
  const [hours, setHours] = useState<(typeof LENGTHS)[number][0]>('');
  const freeze = useSend({
    send: ({ length, ...body }: Schemas['NewFreeze'] & { length: number }, key) => {
      const end = new Date(serverNow() + length * 3_600_000).toISOString();
      const params = { header: { 'Idempotency-Key': key } };
      return unwrap(
        api.POST('/v1/freezes', { params, body: { ...body, ...(length ? { ends_at: end } : {}) } }),
      );
    },
    touches: 'freezes',
    onDone: () => setReason(''),
  });
  const isOpen = scope !== 'tenant' && !target.trim();
  return (
    <FormCard
      title="Add a freeze"
      word="Add freeze"
      busy="Freezing…"
      isPending={freeze.isPending}
      disabledReason={
        bar ?? (isOpen ? 'Enter a target.' : reason.trim() ? undefined : 'Enter a reason.')
      }
      error={freeze.error}
      onSend={() =>
        freeze.go({
          scope,
          reason: reason.trim(),
          length: Number(hours),
          ...(scope === 'tenant' ? {} : { target: target.trim() }),
        })
      }
    >
      <Choice label="Scope" value={scope} choices={SCOPES} onChange={setScope} />
      {scope !== 'tenant' && (
        <Field
          label={scope === 'environment' ? 'Environment' : 'Resources'}
          value={target}
          maxLength={321}
          placeholder={scope === 'environment' ? 'production' : 'database:*'}
          onChange={setTarget}
          className="font-mono"
        />
      )}
      <Choice label="Duration" value={hours} choices={LENGTHS} onChange={setHours} />
      <Field label="Reason" value={reason} placeholder="INC-441" onChange={setReason} />
    </FormCard>
  );
}

/** Active and past freezes. */
export function FreezesPage() {
  const nameOf = useNames();
  const { data, error } = useQuery(freezesQuery());
  useTitle('Freezes');
  return (
    <>
      <ListCard title="Freezes" none="No freezes." items={data} error={error}>
        {(freeze) => <One key={freeze.id} freeze={freeze} nameOf={nameOf} />}
      </ListCard>
      <NewFreeze />
    </>
  );
}
