import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Card } from '@/ui/Card';
import { Choice, Field } from '@/ui/Field';
import { NoAccess } from '@/ui/NoAccess';
import { Secret } from '@/ui/Secret';
import { FormCard, ListCard, wordsOf } from './parts';
import { WebhookRow } from './WebhookRow';

const SCHEMES = [
  ['v1', 'Shared secret (v1)'],
  ['v1a', 'Key pair (v1a)'],
] as const;

const webhooksQuery = () =>
  queryOptions({
    queryKey: ['webhooks', 'all'],
    queryFn: async () =>
      (await everyPage((query) => unwrap(api.GET('/v1/webhooks', { params: { query } })))).items,
  });

function NewWebhook({ onSecret }: { onSecret: (secret: string) => void }) {
  const bar = useAdminBar();
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState('task.* approval.*');
  const [label, setLabel] = useState('');
  const [scheme, setScheme] = useState<Schemas['WebhookScheme']>('v1');
  const make = useSend({
    send: (body: Schemas['NewWebhook'], key) =>
      unwrap(api.POST('/v1/webhooks', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'webhooks',
    onDone: ({ secret }) => {
      if (secret) onSecret(secret);
      setUrl('');
    },
  });
  const kinds = wordsOf(events);
  const missing = !url.trim()
    ? 'Enter a URL.'
    : kinds.length === 0
      ? 'Enter at least one event type.'
      : undefined;
  return (
    <FormCard
      title="Add a webhook"
      word="Add webhook"
      busy="Adding…"
      isPending={make.isPending}
      disabledReason={bar ?? missing}
      error={make.error}
      onSend={() =>
        make.go({
          url: url.trim(),
          events: kinds,
          scheme,
          ...(label.trim() ? { label: label.trim() } : {}),
        })
      }
    >
      <Field
        label="URL"
        type="url"
        value={url}
        maxLength={2048}
        placeholder="https://hooks.example.com/ade"
        onChange={setUrl}
      />
      <Field
        label="Event types"
        value={events}
        spellCheck={false}
        onChange={setEvents}
        className="font-mono"
      />
      <Field label="Description" value={label} maxLength={128} onChange={setLabel} />
      <Choice label="Signature" value={scheme} choices={SCHEMES} onChange={setScheme} />
    </FormCard>
  );
}

/** Webhooks and their deliveries. */
export function WebhooksPage() {
  useTitle('Webhooks');
  if (mayRead(useMe(), 'webhooks')) return <Webhooks />;
  return <NoAccess title="Only admins can see and change webhooks" />;
}

function Webhooks() {
  const { data, error } = useQuery(webhooksQuery());
  const [secret, setSecret] = useState<string>();
  return (
    <>
      {secret && (
        <Card title="Webhook secret">
          <Secret title="Shown only once" value={secret} />
        </Card>
      )}
      <ListCard title="Webhooks" none="No webhooks yet." items={data} error={error}>
        {(webhook) => <WebhookRow key={webhook.id} webhook={webhook} onSecret={setSecret} />}
      </ListCard>
      <NewWebhook onSecret={setSecret} />
    </>
  );
}
