import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { api, type Schemas, unwrap } from '@/api/client';
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
  pending: ['⟳', 'Sending', 'busy'],
  delivered: ['✓', 'Delivered', 'good'],
  dead: ['✕', 'Dead letter', 'bad'],
};

const STATES = [
  ['', 'All states'],
  ...(Object.keys(LOOKS) as DeliveryState[]).map((state) => [state, LOOKS[state][1]] as const),
] as const;

const deliveriesQuery = (id: string, state: DeliveryState | '') =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries', state],
    queryFn: () => {
      const query = { page_size: 50, ...(state ? { state } : {}) };
      return unwrap(api.GET('/v1/webhooks/{id}/deliveries', { params: { path: { id }, query } }));
    },
    refetchInterval: 5_000,
  });

interface OneProps {
  delivery: Delivery;
  disabledReason: string | undefined;
  onAgain?: () => void;
}

function OneDelivery({ delivery, disabledReason, onAgain }: OneProps) {
  const [sign, word, tone] = LOOKS[delivery.state];
  return (
    <li className={ROW} data-delivery={delivery.id}>
      <Chip tone={tone} sign={sign} value={delivery.state}>
        {word}
      </Chip>
      <span className="min-w-0 flex-1 text-meta wrap-anywhere">
        <span className="font-mono">{delivery.type}</span> · {tries(delivery.tries)} ·{' '}
        <Ago at={delivery.created_at} />
        {delivery.status != null && ` · status ${delivery.status}`}
        {delivery.problem && (
          <>
            {' '}
            · <Untrusted text={delivery.problem} />
          </>
        )}
      </span>
      {onAgain && (
        <Button size="small" tone="quiet" disabledReason={disabledReason} onClick={onAgain}>
          Resend
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
      unwrap(
        api.POST('/v1/webhooks/{id}/redeliver', {
          params: { path: { id: webhook.id }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    touches: 'webhooks',
    onDone: ({ count, has_more: isMore }) =>
      toast.success(
        `Resending ${count} ${count === 1 ? 'delivery' : 'deliveries'}` +
          (isMore ? '; more remain' : ''),
      ),
  });
  return (
    <div className="w-full space-y-2 border-t border-line pt-2">
      <div className="flex flex-wrap items-center gap-2">
        <Select aria-label="State" value={state} choices={STATES} onChange={setState} />
        <Button
          disabledReason={bar ?? again.bar}
          onClick={() => again.go({ dead_since: webhook.created_at })}
        >
          Resend dead letters
        </Button>
      </div>
      <Refusal error={again.error ?? error} />
      {!data ? (
        !error && <CardWait error={null} />
      ) : data.items.length === 0 ? (
        <p className="text-ink-2">No deliveries.</p>
      ) : (
        <ul className="divide-y divide-line">
          {data.items.map((one) => (
            <OneDelivery
              key={one.id}
              delivery={one}
              disabledReason={again.bar}
              {...(!bar && (one.state === 'dead' || one.state === 'delivered')
                ? { onAgain: () => again.go({ delivery_ids: [one.id] }) }
                : {})}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

type Order = 'rotate' | 'ping' | 'delete' | 'enable' | 'disable';

/** Each action is a separate request; only a new secret returns something to show. */
async function obey(order: Order, webhook: Webhook, key: string): Promise<string | undefined> {
  const path = { id: webhook.id };
  const header = { 'Idempotency-Key': key };
  if (order === 'rotate') {
    const params = { path, header };
    const { secret } = await unwrap(
      api.POST('/v1/webhooks/{id}/rotate', { params, body: { overlap_seconds: 86_400 } }),
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
  const disabledReason = bar ?? send.bar;
  return (
    <li className={ROW} data-webhook={webhook.url}>
      <span className="min-w-0 flex-1 basis-[280px] wrap-anywhere">
        <span className="font-mono text-meta">
          <Untrusted text={webhook.url} />
        </span>{' '}
        {webhook.label && <Untrusted text={webhook.label} />}
        <span className="block text-meta text-ink-2">
          {webhook.events.join(' ')}
          {webhook.failures > 0 &&
            ` · ${webhook.failures} consecutive ${webhook.failures === 1 ? 'failure' : 'failures'}`}
          {webhook.disabled_because && (
            <>
              {' '}
              · <Untrusted text={webhook.disabled_because} />
            </>
          )}
        </span>
      </span>
      <Chip tone={webhook.active ? 'good' : 'quiet'} sign={webhook.active ? '●' : '○'}>
        {webhook.active ? 'Enabled' : 'Disabled'}
      </Chip>
      <span className="flex flex-wrap gap-1">
        <Button size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Deliveries
        </Button>
        <Button
          size="small"
          tone="quiet"
          disabledReason={disabledReason}
          onClick={() => send.go('ping')}
        >
          Send test event
        </Button>
        <Button
          size="small"
          tone="quiet"
          disabledReason={disabledReason}
          onClick={() => send.go(webhook.active ? 'disable' : 'enable')}
        >
          {webhook.active ? 'Disable' : 'Enable'}
        </Button>
        <Sure
          word="Rotate secret"
          again="Confirm: old secret expires in 24 h"
          disabledReason={disabledReason}
          onSure={() => send.go('rotate')}
        />
        <Sure
          word="Delete"
          again="Confirm: delete webhook"
          disabledReason={disabledReason}
          onSure={() => {
            // The deleted webhook can no longer be queried.
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
