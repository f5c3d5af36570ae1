import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, taken } from '@/api/client';
import { useNames } from '@/api/names';
import { usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { useOperateBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { serverNow } from '@/time/clock';
import { Choice } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Sure } from '@/ui/Sure';
import { Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { Calendar } from './Calendar';
import { FormCard, ListCard, ROW } from './parts';

type Duty = Schemas['Duty'];

const HOUR_MS = 3_600_000;

const LENGTHS = [
  ['12', '12 hours'],
  ['24', 'a day'],
  ['168', 'a week'],
] as const;

const STARTS = [
  ['0', 'now'],
  ['24', 'tomorrow at this time'],
  ['168', 'in a week'],
] as const;

const dutiesQuery = () =>
  queryOptions({ queryKey: ['on-call'], queryFn: () => taken(api.GET('/v1/on-call')) });

function One({ duty, nameOf }: { duty: Duty; nameOf: (id: string) => string }) {
  const bar = useOperateBar();
  const end = useSend({
    send: (id: string, key) =>
      taken(
        api.DELETE('/v1/on-call/{id}', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'on-call',
  });
  const isOn = Date.parse(duty.starts_at) <= serverNow();
  return (
    <li className={ROW} data-duty={duty.id}>
      <span className="min-w-0 flex-1">
        <strong className="font-medium">
          <Named text={nameOf(duty.user)} />
        </strong>{' '}
        for <Untrusted text={duty.role} />
      </span>
      <span className="text-meta text-ink-2">
        {isOn ? 'on duty, ends in ' : 'begins in '}
        <Due at={isOn ? duty.ends_at : duty.starts_at} />
      </span>
      <Sure word="End" again="End it now?" barred={bar ?? end.bar} onSure={() => end.go(duty.id)} />
    </li>
  );
}

function NewDuty() {
  const bar = useOperateBar();
  const { data: users } = useQuery(usersQuery());
  const [role, setRole] = useState('');
  const [user, setUser] = useState('');
  const [starts, setStarts] = useState<(typeof STARTS)[number][0]>('0');
  const [hours, setHours] = useState<(typeof LENGTHS)[number][0]>('24');
  const make = useSend({
    send: ({ after, length, ...body }: Record<'role' | 'user', string> & Times, key) => {
      const from = serverNow() + after * HOUR_MS;
      const [starts_at, ends_at] = [from, from + length * HOUR_MS].map((at) =>
        new Date(at).toISOString(),
      ) as [string, string];
      const params = { header: { 'Idempotency-Key': key } };
      return taken(api.POST('/v1/on-call', { params, body: { ...body, starts_at, ends_at } }));
    },
    touches: 'on-call',
    onDone: () => setUser(''),
  });
  const active = (users ?? []).filter((one) => one.active);
  const roles = [...new Set(active.flatMap((one) => one.roles))].sort();
  const holders = active.filter((one) => one.roles.includes(role));
  return (
    <FormCard
      title="Put somebody on duty"
      word="Put on duty"
      busy="Writing it down…"
      isPending={make.isPending}
      barred={bar ?? (!role ? 'Choose a role.' : user ? undefined : 'Choose a person.')}
      error={make.error}
      onSend={() => make.go({ role, user, after: Number(starts), length: Number(hours) })}
    >
      <Choice
        label="For which role"
        says="While somebody is on duty, what is escalated to the role reaches them alone."
        value={role}
        choices={[['', 'Choose a role'], ...roles.map((one) => [one, one] as const)]}
        onChange={(next) => {
          setRole(next);
          setUser('');
        }}
      />
      <Choice
        label="Who"
        says="A duty gives no role: only who holds it can be on duty for it."
        value={user}
        choices={[['', 'Choose a person'], ...holders.map(({ id, name }) => [id, name] as const)]}
        onChange={setUser}
      />
      <Choice label="From" value={starts} choices={STARTS} onChange={setStarts} />
      <Choice label="For how long" value={hours} choices={LENGTHS} onChange={setHours} />
    </FormCard>
  );
}

interface Times {
  after: number;
  length: number;
}

/** Whom an escalation reaches, now and in the weeks that come. */
export function OnCallPage() {
  const nameOf = useNames();
  const { data, error } = useQuery(dutiesQuery());
  useTitle('On call');
  return (
    <>
      <ListCard
        title="On duty"
        none="Nobody: what is escalated to a role reaches all who hold it."
        items={data?.items}
        error={error}
      >
        {(duty) => <One key={duty.id} duty={duty} nameOf={nameOf} />}
      </ListCard>
      {data && data.items.length > 0 && (
        <Calendar
          lines={data.items.map(({ id, role, user, starts_at, ends_at }) => ({
            id,
            word: `${nameOf(user)} · ${role}`,
            startsAt: starts_at,
            endsAt: ends_at,
          }))}
        />
      )}
      <NewDuty />
    </>
  );
}
