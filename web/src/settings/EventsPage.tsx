import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Select } from '@/ui/Field';
import { NoAccess } from '@/ui/NoAccess';
import { Refusal } from '@/ui/Refusal';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { ListCard, ROW, tries } from './parts';

type Consumer = Schemas['EventConsumer'];
type DeadEvent = Schemas['DeadEvent'];

const CONSUMERS: Record<Consumer, string> = {
  notification_service: 'Notifications',
  audit_logger: 'Audit logger',
  webhook_dispatcher: 'Webhooks',
  analytics_pipeline: 'Analytics',
};

const CHOICES = [
  ['', 'All consumers'],
  ...(Object.entries(CONSUMERS) as [Consumer, string][]),
] as const;

const consumersQuery = () =>
  queryOptions({
    queryKey: ['events', 'consumers'],
    queryFn: () => unwrap(api.GET('/v1/event-consumers')),
    refetchInterval: 10_000,
  });

const deadQuery = (consumer: Consumer | '') =>
  queryOptions({
    queryKey: ['events', 'dead', consumer],
    queryFn: () => {
      const query = { page_size: 100, ...(consumer ? { consumer } : {}) };
      return unwrap(api.GET('/v1/event-consumers/dead-events', { params: { query } }));
    },
  });

function useRedrive() {
  return useSend({
    send: (body: Schemas['Redrive'], key) =>
      unwrap(
        api.POST('/v1/event-consumers/dead-events/redrive', {
          params: { header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'events',
    onDone: ({ count, has_more: isMore }) =>
      toast.success(
        `Resent ${count} ${count === 1 ? 'event' : 'events'}${isMore ? '; more remain' : ''}`,
      ),
  });
}

function ConsumerProgress({ one }: { one: Schemas['EventConsumerStatus'] }) {
  const bar = useAdminBar();
  const redrive = useRedrive();
  return (
    <li className={ROW} data-consumer={one.consumer}>
      <span className="min-w-0 flex-1">
        <strong className="font-medium">{CONSUMERS[one.consumer]}</strong>
        <span className="block text-meta text-ink-2 wrap-anywhere">
          {one.behind === 0 ? 'up to date' : `${one.behind.toLocaleString('en')} behind`}
          {one.moved_at && (
            <>
              {' '}
              · advanced <Ago at={one.moved_at} />
            </>
          )}
          {one.trouble && (
            <>
              {' '}
              · stuck at event {one.trouble.seq}: <Untrusted text={one.trouble.problem} />
            </>
          )}
        </span>
      </span>
      {one.trouble && (
        <Chip tone="warn" sign="▲">
          Stuck
        </Chip>
      )}
      {one.dead > 0 && (
        <>
          <Chip tone="bad" sign="✕">
            {one.dead} {one.dead === 1 ? 'dead letter' : 'dead letters'}
          </Chip>
          <Button
            size="small"
            disabledReason={bar ?? redrive.bar}
            onClick={() => redrive.go({ consumer: one.consumer })}
          >
            Resend all
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
          {CONSUMERS[event.consumer]} · {tries(event.tries)} · <Ago at={event.died_at} /> ·{' '}
          <Untrusted text={event.problem} />
        </span>
      </span>
      {event.state === 'dead' ? (
        <Button
          size="small"
          disabledReason={bar ?? redrive.bar}
          onClick={() => redrive.go({ event_ids: [event.id] })}
        >
          Resend
        </Button>
      ) : (
        <Chip tone={event.state === 'taken' ? 'good' : 'busy'} sign="⟳">
          {event.state === 'taken' ? 'Delivered' : 'Pending'}
        </Chip>
      )}
      {redrive.error && <Refusal error={redrive.error} />}
    </li>
  );
}

/** Progress of each event consumer, and the events that they could not process. */
export function EventsPage() {
  useTitle('Events');
  if (mayRead(useMe(), 'events')) return <Events />;
  return <NoAccess title="Only operators and admins can see how events are delivered" />;
}

function Events() {
  const [consumer, setConsumer] = useState<Consumer | ''>('');
  const consumers = useQuery(consumersQuery());
  const dead = useQuery(deadQuery(consumer));
  return (
    <>
      <ListCard
        title="Event consumers"
        none="No event consumers."
        items={consumers.data?.items}
        error={consumers.error}
      >
        {(one) => <ConsumerProgress key={one.consumer} one={one} />}
      </ListCard>
      <ListCard
        title="Dead letters"
        none="No dead letters."
        items={dead.data?.items}
        error={dead.error}
        aside={
          <Select aria-label="Consumer" value={consumer} choices={CHOICES} onChange={setConsumer} />
        }
      >
        {(event) => <Dead key={event.id} event={event} />}
      </ListCard>
    </>
  );
}
