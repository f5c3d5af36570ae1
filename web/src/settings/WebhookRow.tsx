import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, taken } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useAdminBar } from '@/shell/bars';
import { Button } from '@/ui/Button';
import { CardWait } from '@/ui/Card';
import { Chip, type ChipTone } from '@/ui/Chip';
import { Select } from '@/ui/Field';
import { Refusal } from '@/ui/Refusal';
import { Sure } from '@/ui/Sure';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { ROW, tries } from './parts';

type Webhook = Schemas['Webhook'];
type Delivery = Schemas['Delivery'];
type DeliveryState = Schemas['DeliveryState'];

const LOOKS: Record<DeliveryState, [sign: string, word: string, tone: ChipTone]> = {
  waiting: ['◔', 'Waiting', 'quiet'],
  pending: ['⟳', 'On its way', 'busy'],
  delivered: ['✓', 'Delivered', 'good'],
  dead: ['✕', 'Given up', 'bad'],
};

const STATES = [
  ['', 'Every state'],
  ...(Object.keys(LOOKS) as DeliveryState[]).map((state) => [state, LOOKS[state][1]] as const),
] as const;

const deliveriesQuery = (id: string, state: DeliveryState | '') =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries', state],
    queryFn: () => {
      const query = { page_size: 50, ...(state ? { state } : {}) };
      return taken(api.GET('/v1/webhooks/{id}/deliveries', { params: { path: { id }, query } }));
    },
    refetchInterval: 5_000,
  });

interface OneProps {
  delivery: Delivery;
  barred: string | undefined;
  onAgain?: () => void;
}

function OneDelivery({ delivery, barred, onAgain }: OneProps) {
  const [sign, word, tone] = LOOKS[delivery.state];
  return (
    <li className={ROW} data-delivery={delivery.id}>
      <Chip tone={tone} sign={sign} value={delivery.state}>
        {word}
      </Chip>
      <span className="min-w-0 flex-1 text-meta wrap-anywhere">
        <span className="font-mono">{delivery.type}</span> · {tries(delivery.tries)} ·{' '}
        <Ago at={delivery.created_at} />
        {delivery.status != null && ` · answered ${delivery.status}`}
        {delivery.problem && (
          <>
            {' '}
            · <Untrusted text={delivery.problem} />
          </>
        )}
      </span>
      {onAgain && (
        <Button size="small" tone="quiet" barred={barred} onClick={onAgain}>
          Send again
        </Button>
      )}
    </li>
  );
}

function Deliveries({ webhook }: { webhook: Webhook }) {
  const bar = useAdminBar();
  const [state, setState] = useState<DeliveryState | ''>('');
  const { data, error } = useQuery(deliveriesQuery(webhook.id, state));
  const again = useSend({
    send: (body: Schemas['Redelivery'], key) =>
      taken(
        api.POST('/v1/webhooks/{id}/redeliver', {
          params: { path: { id: webhook.id }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'webhooks',
    onDone: ({ count, has_more: isMore }) =>
      toast.success(`${count} go out again${isMore ? '; there are more' : ''}`),
  });
  return (
    <div className="w-full space-y-2 border-t border-line pt-2">
      <div className="flex flex-wrap items-center gap-2">
        <Select aria-label="State" value={state} choices={STATES} onChange={setState} />
        <Button
          barred={bar ?? again.bar}
          onClick={() => again.go({ dead_since: webhook.created_at })}
        >
          Send all that were given up
        </Button>
      </div>
      <Refusal error={again.error ?? error} />
      {!data ? (
        !error && <CardWait error={null} />
      ) : data.items.length === 0 ? (
        <p className="text-ink-2">Nothing was sent.</p>
      ) : (
        <ul className="divide-y divide-line">
          {data.items.map((one) => (
            <OneDelivery
              key={one.id}
              delivery={one}
              barred={again.bar}
              {...(!bar && (one.state === 'dead' || one.state === 'delivered')
                ? { onAgain: () => again.go({ deliveries: [one.id] }) }
                : {})}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

type Order = 'rotate' | 'ping' | 'delete' | 'enable' | 'disable';

/** Each order is a request of its own; only a new secret has something to show. */
async function obey(order: Order, webhook: Webhook, key: string): Promise<string | undefined> {
  const path = { id: webhook.id };
  const header = { 'Idempotency-Key': key };
  if (order === 'rotate') {
    const params = { path, header };
    const { secret } = await taken(
      api.POST('/v1/webhooks/{id}/rotate', { params, body: { overlap_hours: 24 } }),
    );
    return secret ?? undefined;
  }
  if (order === 'ping') await api.POST('/v1/webhooks/{id}/ping', { params: { path, header } });
  else if (order === 'delete') await api.DELETE('/v1/webhooks/{id}', { params: { path, header } });
  else {
    const params = { path, header: { ...header, 'If-Match': `"${webhook.version}"` } };
    await api.PATCH('/v1/webhooks/{id}', { params, body: { active: order === 'enable' } });
  }
  return undefined;
}

interface Props {
  webhook: Webhook;
  onSecret: (secret: string) => void;
}

export function WebhookRow({ webhook, onSecret }: Props) {
  const bar = useAdminBar();
  const [isOpen, setOpen] = useState(false);
  const send = useSend({
    send: (order: Order, key) => obey(order, webhook, key),
    touches: 'webhooks',
    onDone: (secret, order) => {
      if (secret) onSecret(secret);
      if (order === 'ping') setOpen(true);
    },
  });
  const barred = bar ?? send.bar;
  return (
    <li className={ROW} data-webhook={webhook.url}>
      <span className="min-w-0 flex-1 basis-[280px] wrap-anywhere">
        <span className="font-mono text-meta">
          <Untrusted text={webhook.url} />
        </span>{' '}
        {webhook.label && <Untrusted text={webhook.label} />}
        <span className="block text-meta text-ink-2">
          {webhook.events.join(' ')}
          {webhook.failures > 0 && ` · failed ${webhook.failures} times in a row`}
          {webhook.disabled_because && (
            <>
              {' '}
              · <Untrusted text={webhook.disabled_because} />
            </>
          )}
        </span>
      </span>
      <Chip tone={webhook.active ? 'good' : 'quiet'} sign={webhook.active ? '●' : '○'}>
        {webhook.active ? 'On' : 'Off'}
      </Chip>
      <span className="flex flex-wrap gap-1">
        <Button size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Deliveries
        </Button>
        <Button size="small" tone="quiet" barred={barred} onClick={() => send.go('ping')}>
          Try it
        </Button>
        <Button
          size="small"
          tone="quiet"
          barred={barred}
          onClick={() => send.go(webhook.active ? 'disable' : 'enable')}
        >
          {webhook.active ? 'Switch off' : 'Switch on'}
        </Button>
        <Sure
          word="New secret"
          again="The old one ends in 24 h"
          barred={barred}
          onSure={() => send.go('rotate')}
        />
        <Sure
          word="Delete"
          again="Delete for good?"
          barred={barred}
          onSure={() => {
            // Nothing can be read about it any more.
            setOpen(false);
            send.go('delete');
          }}
        />
      </span>
      {send.error && <Refusal error={send.error} />}
      {isOpen && <Deliveries webhook={webhook} />}
    </li>
  );
}
