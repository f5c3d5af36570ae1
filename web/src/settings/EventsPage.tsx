import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, taken } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Select } from '@/ui/Field';
import { Refusal } from '@/ui/Refusal';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { ListCard, ROW, tries } from './parts';

type Group = Schemas['EventGroup'];
type DeadEvent = Schemas['DeadEvent'];

const GROUPS: Record<Group, string> = {
  'notification-service': 'Notifications',
  'audit-logger': 'Audit logger',
  'webhook-dispatcher': 'Webhooks',
  'analytics-pipeline': 'Analytics',
};

const CHOICES = [['', 'Every group'], ...(Object.entries(GROUPS) as [Group, string][])] as const;

const groupsQuery = () =>
  queryOptions({
    queryKey: ['events', 'groups'],
    queryFn: () => taken(api.GET('/v1/groups')),
    refetchInterval: 10_000,
  });

const deadQuery = (group: Group | '') =>
  queryOptions({
    queryKey: ['events', 'dead', group],
    queryFn: () => {
      const query = { page_size: 100, ...(group ? { group } : {}) };
      return taken(api.GET('/v1/dead-events', { params: { query } }));
    },
  });

function useRedrive() {
  return useSend({
    send: (body: Schemas['Redrive'], key) =>
      taken(
        api.POST('/v1/dead-events/redrive', {
          params: { header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'events',
    onDone: ({ count, has_more: isMore }) =>
      toast.success(`${count} sent again${isMore ? '; there are more' : ''}`),
  });
}

function Standing({ one }: { one: Schemas['GroupStanding'] }) {
  const bar = useAdminBar();
  const redrive = useRedrive();
  return (
    <li className={ROW} data-group={one.group}>
      <span className="min-w-0 flex-1">
        <strong className="font-medium">{GROUPS[one.group]}</strong>
        <span className="block text-meta text-ink-2 wrap-anywhere">
          {one.behind === 0 ? 'has seen everything' : `${one.behind.toLocaleString('en')} behind`}
          {one.moved_at && (
            <>
              {' '}
              · moved <Ago at={one.moved_at} />
            </>
          )}
          {one.trouble && (
            <>
              {' '}
              · stands at {one.trouble.seq}: <Untrusted text={one.trouble.problem} />
            </>
          )}
        </span>
      </span>
      {one.trouble && (
        <Chip tone="warn" sign="▲">
          Stands still
        </Chip>
      )}
      {one.dead > 0 && (
        <>
          <Chip tone="bad" sign="✕">
            {one.dead} put aside
          </Chip>
          <Button
            size="small"
            barred={bar ?? redrive.bar}
            onClick={() => redrive.go({ group: one.group })}
          >
            Send them again
          </Button>
        </>
      )}
    </li>
  );
}

function Dead({ event }: { event: DeadEvent }) {
  const bar = useAdminBar();
  const redrive = useRedrive();
  return (
    <li className={ROW} data-dead={event.id}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <span className="font-mono text-meta">{event.type}</span> {event.seq}
        <span className="block text-meta text-ink-2">
          {GROUPS[event.group]} · {tries(event.tries)} · <Ago at={event.died_at} /> ·{' '}
          <Untrusted text={event.problem} />
        </span>
      </span>
      {event.state === 'dead' ? (
        <Button
          size="small"
          barred={bar ?? redrive.bar}
          onClick={() => redrive.go({ events: [event.id] })}
        >
          Send again
        </Button>
      ) : (
        <Chip tone={event.state === 'taken' ? 'good' : 'busy'} sign="⟳">
          {event.state === 'taken' ? 'Taken' : 'On its way'}
        </Chip>
      )}
      {redrive.error && <Refusal error={redrive.error} />}
    </li>
  );
}

/** How far each group of readers is, and what they could not take. */
export function EventsPage() {
  const [group, setGroup] = useState<Group | ''>('');
  const groups = useQuery(groupsQuery());
  const dead = useQuery(deadQuery(group));
  useTitle('Events');
  return (
    <>
      <ListCard
        title="Groups of readers"
        none="There is none."
        items={groups.data?.items}
        error={groups.error}
      >
        {(one) => <Standing key={one.group} one={one} />}
      </ListCard>
      <ListCard
        title="Put aside"
        none="Every event was taken."
        items={dead.data?.items}
        error={dead.error}
        aside={<Select aria-label="Group" value={group} choices={CHOICES} onChange={setGroup} />}
      >
        {(event) => <Dead key={event.id} event={event} />}
      </ListCard>
    </>
  );
}
