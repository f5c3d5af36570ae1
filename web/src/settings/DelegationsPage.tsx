import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, everyPage, type Schemas, taken } from '@/api/client';
import { useNames } from '@/api/names';
import { usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
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
  ['transfer', 'They answer instead of me'],
  ['follow', 'Their yes stands for mine too'],
] as const;

const DAYS = [
  ['1', 'a day'],
  ['7', 'a week'],
  ['14', 'two weeks'],
  ['30', '30 days'],
] as const;

const delegationsQuery = () =>
  queryOptions({
    queryKey: ['delegations'],
    queryFn: async () =>
      (await everyPage((query) => taken(api.GET('/v1/delegations', { params: { query } })))).items,
  });

function scopeWords({ conditions }: Delegation): string {
  const {
    resource_patterns: resources = [],
    task_types: types = [],
    risk_above: risk,
  } = conditions;
  const parts = [...types, ...resources, ...(risk == null ? [] : [`risk above ${risk}`])];
  return parts.length > 0 ? parts.join(', ') : 'everything';
}

function One({ delegation, nameOf }: { delegation: Delegation; nameOf: NameOf }) {
  const bar = useWriteBar();
  const end = useSend({
    send: (id: string, key) =>
      taken(
        api.DELETE('/v1/delegations/{id}', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'delegations',
  });
  return (
    <li className={ROW} data-delegation={delegation.id}>
      <span className="min-w-0 flex-1">
        <Named text={nameOf(delegation.owner)} /> →{' '}
        <strong className="font-medium">
          <Named text={nameOf(delegation.delegate_to)} />
        </strong>
        <span className="block text-meta text-ink-2">
          {delegation.kind === 'follow' ? 'their yes counts too' : 'they answer instead'} ·{' '}
          <Untrusted text={scopeWords(delegation)} />
          {delegation.cascade && ' · leads further'}
        </span>
      </span>
      {delegation.active ? (
        <>
          <span className="text-meta text-ink-2">
            ends in <Due at={delegation.expires_at} />
          </span>
          <Sure
            word="End"
            again="End it now?"
            barred={bar ?? end.bar}
            onSure={() => end.go(delegation.id)}
          />
        </>
      ) : (
        <Chip tone="quiet" sign="⊘">
          Over
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
      taken(
        api.POST('/v1/delegations', {
          params: { header: { 'Idempotency-Key': key } },
          body: { ...body, expires_at: new Date(serverNow() + length * 86_400_000).toISOString() },
        }),
      ),
    touches: 'delegations',
    onDone: ({ moved, stayed }) => {
      const left = stayed.length > 0 ? `, ${stayed.length} stayed` : '';
      toast.success(isMoving ? `Delegated; ${moved} handed over${left}` : 'Delegated');
      setTo('');
    },
  });
  const isRisk = /^(\d{1,2}|100)?$/.test(risk.trim());
  const people = (users ?? [])
    .filter(({ id, active }) => active && id !== me.id)
    .map(({ id, name }) => [id, name] as const);
  return (
    <FormCard
      title="Let somebody answer for you"
      word="Delegate"
      busy="Delegating…"
      isPending={make.isPending}
      barred={bar ?? (!to ? 'Choose a person.' : isRisk ? undefined : 'Risk goes from 0 to 100.')}
      error={make.error}
      onSend={() =>
        make.go({
          delegate_to: to,
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
        label="To whom"
        value={to}
        choices={[['', 'Choose a person'], ...people]}
        onChange={setTo}
      />
      <Choice label="For how long" value={days} choices={DAYS} onChange={setDays} />
      <Choice label="How" value={kind} choices={KINDS} onChange={setKind} />
      <Field
        label="Only these types of tasks"
        value={types}
        placeholder="all"
        spellCheck={false}
        onChange={setTypes}
        className="font-mono"
      />
      <Field
        label="Only on these resources"
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
        <Check label="Also what waits for me now" isOn={isMoving} onChange={setMoving} />
      </div>
    </FormCard>
  );
}

const resolvedQuery = () =>
  queryOptions({
    queryKey: ['delegations', 'resolved'],
    queryFn: () => taken(api.GET('/v1/delegations/resolve', { params: { query: {} } })),
  });

const ROUTES = new Map([
  ['transfer', 'answers in your place'],
  ['follow', 'says yes for you too'],
  ['handed_over', 'was handed a request of yours'],
  ['reassigned', 'was asked in your place'],
]);

/** Who could answer for the reader at this moment, by the server's own reckoning. */
function Acting({ nameOf }: { nameOf: NameOf }) {
  const { data, error } = useQuery(resolvedQuery());
  const chain = (path: readonly string[]) => path.map(nameOf).join(' → ');
  return (
    <>
      <ListCard
        title="Who can act for you now"
        none="Nobody but you."
        items={data?.acting.filter(({ route }) => route !== 'own')}
        error={error}
      >
        {({ user, chain: path, route }) => (
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
          {data.faults.map(({ path, says }) => (
            <li key={path.join()} className="text-high">
              ▲ <Untrusted text={`${chain(path)}: ${says}`} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Who answers for whom. */
export function DelegationsPage() {
  const nameOf = useNames();
  const { data, error } = useQuery(delegationsQuery());
  useTitle('Delegations');
  return (
    <>
      <ListCard
        title="Who answers for you"
        none="Nobody; requests to you wait for you."
        items={data}
        error={error}
      >
        {(one) => <One key={one.id} delegation={one} nameOf={nameOf} />}
      </ListCard>
      {data && data.length > 0 && (
        <Calendar
          lines={data.map(({ id, delegate_to, starts_at, expires_at }) => ({
            id,
            word: nameOf(delegate_to),
            startsAt: starts_at,
            endsAt: expires_at,
          }))}
        />
      )}
      <Acting nameOf={nameOf} />
      <NewDelegation />
    </>
  );
}
