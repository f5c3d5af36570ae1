import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, everyPage, type Schemas, taken } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Card } from '@/ui/Card';
import { Choice, Field } from '@/ui/Field';
import { Secret } from '@/ui/Secret';
import { FormCard, ListCard, wordsOf } from './parts';
import { WebhookRow } from './WebhookRow';

const SCHEMES = [
  ['v1', 'a shared secret (v1)'],
  ['v1a', 'a key pair (v1a)'],
] as const;

const webhooksQuery = () =>
  queryOptions({
    queryKey: ['webhooks', 'all'],
    queryFn: async () =>
      (await everyPage((query) => taken(api.GET('/v1/webhooks', { params: { query } })))).items,
  });

function NewWebhook({ onSecret }: { onSecret: (secret: string) => void }) {
  const bar = useAdminBar();
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState('task.* approval.*');
  const [label, setLabel] = useState('');
  const [scheme, setScheme] = useState<Schemas['WebhookScheme']>('v1');
  const make = useSend({
    send: (body: Schemas['NewWebhook'], key) =>
      taken(api.POST('/v1/webhooks', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'webhooks',
    onDone: ({ secret }) => {
      if (secret) onSecret(secret);
      setUrl('');
    },
  });
  const kinds = wordsOf(events);
  const missing = !url.trim()
    ? 'Give an address.'
    : kinds.length === 0
      ? 'Say of what.'
      : undefined;
  return (
    <FormCard
      title="Tell another address"
      word="Make it"
      busy="Making it…"
      isPending={make.isPending}
      barred={bar ?? missing}
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
        label="Address"
        type="url"
        value={url}
        maxLength={2048}
        placeholder="https://hooks.example.com/ade"
        onChange={setUrl}
      />
      <Field
        label="Of which events"
        value={events}
        spellCheck={false}
        onChange={setEvents}
        className="font-mono"
      />
      <Field label="What for" value={label} maxLength={128} onChange={setLabel} />
      <Choice label="Signed with" value={scheme} choices={SCHEMES} onChange={setScheme} />
    </FormCard>
  );
}

/** Addresses that are told of events, and how that goes. */
export function WebhooksPage() {
  const { data, error } = useQuery(webhooksQuery());
  const [secret, setSecret] = useState<string>();
  useTitle('Webhooks');
  return (
    <>
      {secret && (
        <Card title="Made">
          <Secret title="The secret, shown once" value={secret} />
        </Card>
      )}
      <ListCard title="Webhooks" none="Nobody is told." items={data} error={error}>
        {(webhook) => <WebhookRow key={webhook.id} webhook={webhook} onSecret={setSecret} />}
      </ListCard>
      <NewWebhook onSecret={setSecret} />
    </>
  );
}
