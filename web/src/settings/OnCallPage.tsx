import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
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
  ['24', '1 day'],
  ['168', '1 week'],
] as const;

const STARTS = [
  ['0', 'Now'],
  ['24', 'Tomorrow at this time'],
  ['168', 'In 1 week'],
] as const;

const dutiesQuery = () =>
  queryOptions({ queryKey: ['on-call'], queryFn: () => unwrap(api.GET('/v1/on-call')) });

function One({ duty, nameOf }: { duty: Duty; nameOf: (id: string) => string }) {
  const bar = useOperateBar();
  const end = useSend({
    send: (id: string, key) =>
      unwrap(
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
          <Named text={nameOf(duty.user_id)} />
        </strong>{' '}
        for <Untrusted text={duty.role} />
      </span>
      <span className="text-meta text-ink-2">
        {isOn ? 'on call, ends in ' : 'starts in '}
        <Due at={isOn ? duty.ends_at : duty.starts_at} />
      </span>
      <Sure
        word="End shift"
        again="Confirm: end shift"
        disabledReason={bar ?? end.bar}
        onSure={() => end.go(duty.id)}
      />
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
    send: ({ after, length, ...body }: Record<'role' | 'user_id', string> & Times, key) => {
      const from = serverNow() + after * HOUR_MS;
      const [starts_at, ends_at] = [from, from + length * HOUR_MS].map((at) =>
        new Date(at).toISOString(),
      ) as [string, string];
      const params = { header: { 'Idempotency-Key': key } };
      return unwrap(api.POST('/v1/on-call', { params, body: { ...body, starts_at, ends_at } }));
    },
    touches: 'on-call',
    onDone: () => setUser(''),
  });
  const active = (users ?? []).filter((one) => one.active);
  const roles = [...new Set(active.flatMap((one) => one.roles))].sort();
  const holders = active.filter((one) => one.roles.includes(role));
  return (
    <FormCard
      title="Add an on-call shift"
      word="Add shift"
      busy="Adding…"
      isPending={make.isPending}
      disabledReason={bar ?? (!role ? 'Choose a role.' : user ? undefined : 'Choose a person.')}
      error={make.error}
      onSend={() => make.go({ role, user_id: user, after: Number(starts), length: Number(hours) })}
    >
      <Choice
        label="Role"
        says="During a shift, escalations to this role go only to the person on call."
        value={role}
        choices={[['', 'Choose a role'], ...roles.map((one) => [one, one] as const)]}
        onChange={(next) => {
          setRole(next);
          setUser('');
        }}
      />
      <Choice
        label="Person"
        says="Only people who already have the role can be on call for it."
        value={user}
        choices={[['', 'Choose a person'], ...holders.map(({ id, name }) => [id, name] as const)]}
        onChange={setUser}
      />
      <Choice label="Start" value={starts} choices={STARTS} onChange={setStarts} />
      <Choice label="Duration" value={hours} choices={LENGTHS} onChange={setHours} />
    </FormCard>
  );
}

interface Times {
  after: number;
  length: number;
}

/** Current and upcoming on-call shifts, which determine who receives escalations. */
export function OnCallPage() {
  const nameOf = useNames();
  const { data, error } = useQuery(dutiesQuery());
  useTitle('On call');
  return (
    <>
      <ListCard
        title="On-call shifts"
        none="No shifts. Escalations to a role go to everyone who has it."
        items={data?.items}
        error={error}
      >
        {(duty) => <One key={duty.id} duty={duty} nameOf={nameOf} />}
      </ListCard>
      {data && data.items.length > 0 && (
        <Calendar
          lines={data.items.map(({ id, role, user_id, starts_at, ends_at }) => ({
            id,
            word: `${nameOf(user_id)} · ${role}`,
            startsAt: starts_at,
            endsAt: ends_at,
          }))}
        />
      )}
      <NewDuty />
    </>
  );
}
