import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { Proposed } from '@/changes/Proposed';
import { useWriteBar } from '@/live/react';
import { useMe } from '@/session/session';
import { useTitle } from '@/shell/useTitle';
import { serverNow } from '@/time/clock';
import { Chip } from '@/ui/Chip';
import { Choice, Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Sure } from '@/ui/Sure';
import { Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { Calendar } from './Calendar';
import { Check, FormCard, ListCard, ROW, wordsOf } from './parts';

type Delegation = Schemas['Delegation'];
type NameOf = (id: string) => string;

const KINDS = [
  ['transfer', 'They vote instead of me'],
  ['follow', 'Their approval also counts as mine'],
] as const;

const DAYS = [
  ['1', '1 day'],
  ['7', '1 week'],
  ['14', '2 weeks'],
  ['30', '30 days'],
] as const;

const delegationsQuery = () =>
  queryOptions({
    queryKey: ['delegations'],
    queryFn: async () =>
      (await everyPage((query) => unwrap(api.GET('/v1/delegations', { params: { query } })))).items,
  });

function scopeWords({ conditions }: Delegation): string {
  const {
    resource_patterns: resources = [],
    task_types: types = [],
    risk_above: risk,
  } = conditions;
  const parts = [...types, ...resources, ...(risk == null ? [] : [`risk above ${risk}`])];
  return parts.length > 0 ? parts.join(', ') : 'all tasks';
}

function One({ delegation, nameOf }: { delegation: Delegation; nameOf: NameOf }) {
  const bar = useWriteBar();
  const end = useSend({
    send: (id: string, key) =>
      unwrap(
        api.DELETE('/v1/delegations/{id}', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'delegations',
  });
  return (
    <li className={ROW} data-delegation={delegation.id}>
      <span className="min-w-0 flex-1">
        <Named text={nameOf(delegation.owner_id)} /> →{' '}
        <strong className="font-medium">
          <Named text={nameOf(delegation.delegate_id)} />
        </strong>
        <span className="block text-meta text-ink-2">
          {delegation.kind === 'follow' ? 'their approval also counts' : 'they vote instead'} ·{' '}
          <Untrusted text={scopeWords(delegation)} />
          {delegation.cascade && ' · can be delegated further'}
        </span>
      </span>
      {delegation.active ? (
        <>
          <span className="text-meta text-ink-2">
            ends in <Due at={delegation.expires_at} />
          </span>
          <Sure
            word="End delegation"
            again="Confirm: end delegation"
            disabledReason={bar ?? end.bar}
            onSure={() => end.go(delegation.id)}
          />
        </>
      ) : (
        <Chip tone="quiet" sign="⊘">
          Ended
        </Chip>
      )}
    </li>
  );
}

function NewDelegation() {
  const me = useMe();
  const bar = useWriteBar();
  const { data: users } = useQuery(usersQuery());
  const [to, setTo] = useState('');
  const [kind, setKind] = useState<Delegation['kind']>('transfer');
  const [days, setDays] = useState<(typeof DAYS)[number][0]>('7');
  const [types, setTypes] = useState('');
  const [resources, setResources] = useState('');
  const [risk, setRisk] = useState('');
  const [isMoving, setMoving] = useState(false);
  const make = useSend({
    send: (
      { length, ...body }: Omit<Schemas['NewDelegation'], 'expires_at'> & { length: number },
      key,
    ) =>
      unwrap(
        api.POST('/v1/delegations', {
          params: { header: { 'Idempotency-Key': key } },
          body: { ...body, expires_at: new Date(serverNow() + length * 86_400_000).toISOString() },
        }),
      ),
    touches: 'delegations',
    onDone: ({ moved, stayed }) => {
      const left = stayed.length > 0 ? `, ${stayed.length} kept` : '';
      toast.success(
        isMoving
          ? `Delegation created; requests handed over: ${moved}${left}`
          : 'Delegation created',
      );
      setTo('');
    },
  });
  const isRisk = /^(\d{1,2}|100)?$/.test(risk.trim());
  const people = (users ?? [])
    .filter(({ id, active }) => active && id !== me.id)
    .map(({ id, name }) => [id, name] as const);
  return (
    <FormCard
      title="Delegate your reviews"
      word="Create delegation"
      busy="Creating…"
      isPending={make.isPending}
      disabledReason={
        bar ?? (!to ? 'Choose a person.' : isRisk ? undefined : 'Enter a risk from 0 to 100.')
      }
      error={make.error}
      onSend={() =>
        make.go({
          delegate_id: to,
          kind,
          length: Number(days),
          conditions: {
            task_types: wordsOf(types),
            resource_patterns: wordsOf(resources),
            risk_above: risk.trim() ? Number(risk) : null,
          },
          move_pending: isMoving,
        })
      }
    >
      <Choice
        label="Delegate to"
        value={to}
        choices={[['', 'Choose a person'], ...people]}
        onChange={setTo}
      />
      <Choice label="Duration" value={days} choices={DAYS} onChange={setDays} />
      <Choice label="Mode" value={kind} choices={KINDS} onChange={setKind} />
      <Field
        label="Only these task types"
        value={types}
        placeholder="all"
        spellCheck={false}
        onChange={setTypes}
        className="font-mono"
      />
      <Field
        label="Only these resources"
        value={resources}
        placeholder="all"
        spellCheck={false}
        onChange={setResources}
        className="font-mono"
      />
      <Field
        label="Only above this risk"
        value={risk}
        placeholder="any"
        inputMode="numeric"
        onChange={setRisk}
      />
      <div className="col-span-full">
        <Check label="Include my pending requests" isOn={isMoving} onChange={setMoving} />
      </div>
    </FormCard>
  );
}

const resolvedQuery = () =>
  queryOptions({
    queryKey: ['delegations', 'resolved'],
    queryFn: () => unwrap(api.GET('/v1/delegations/resolve', { params: { query: {} } })),
  });

const ROUTES = new Map([
  ['transfer', 'votes in your place'],
  ['follow', 'their approval also counts as yours'],
  ['handed_over', 'took over one of your requests'],
  ['reassigned', 'was assigned in your place'],
]);

/** Users who can currently vote for the reader, as resolved by the server. */
function Acting({ nameOf }: { nameOf: NameOf }) {
  const { data, error } = useQuery(resolvedQuery());
  const chain = (path: readonly string[]) => path.map(nameOf).join(' → ');
  return (
    <>
      <ListCard
        title="Who can vote for you now"
        none="Only you."
        items={data?.acting.filter(({ route }) => route !== 'own')}
        error={error}
      >
        {({ user_id: user, chain: path, route }) => (
          <li key={`${user}-${path.join()}`} className={ROW} data-acting={user}>
            <strong className="font-medium">
              <Untrusted text={chain(path)} />
            </strong>
            <span className="min-w-0 flex-1 text-meta text-ink-2">
              {ROUTES.get(route) ?? <Untrusted text={route} />}
            </span>
          </li>
        )}
      </ListCard>
      {data && data.faults.length > 0 && (
        <ul className="space-y-1" data-faults>
          {data.faults.map(({ path, message }) => (
            <li key={path.join()} className="text-high">
              ▲ <Untrusted text={`${chain(path)}: ${message}`} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Delegations of the reader. */
export function DelegationsPage() {
  const nameOf = useNames();
  const me = useMe();
  const { data, error } = useQuery(delegationsQuery());
  useTitle('Delegations');
  return (
    <>
      <ListCard
        title="Your delegations"
        none="No delegations. Only you can answer your review requests."
        items={data}
        error={error}
      >
        {(one) => <One key={one.id} delegation={one} nameOf={nameOf} />}
      </ListCard>
      {data && data.length > 0 && (
        <Calendar
          lines={data.map(({ id, delegate_id, starts_at, expires_at }) => ({
            id,
            word: nameOf(delegate_id),
            startsAt: starts_at,
            endsAt: expires_at,
          }))}
        />
      )}
      <Proposed kinds={/^delegation\./} object={me.id} />
      <Acting nameOf={nameOf} />
      <NewDelegation />
    </>
  );
}
