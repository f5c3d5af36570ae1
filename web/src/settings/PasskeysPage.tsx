import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { createPasskey } from '@/confirm/passkey';
import { useWriteBar } from '@/live/react';
import { useTitle } from '@/shell/useTitle';
import { Field } from '@/ui/Field';
import { Sure } from '@/ui/Sure';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { FormCard, ListCard, ROW } from './parts';

const NONE =
  'You have no passkeys. High-risk approvals need one, so that a stolen session is not enough.';

const passkeysQuery = () =>
  queryOptions({
    queryKey: ['passkeys'],
    queryFn: () => unwrap(api.GET('/v1/passkeys')),
  });

function One({ passkey }: { passkey: Schemas['Passkey'] }) {
  const bar = useWriteBar();
  const remove = useSend({
    send: (id: string, key) =>
      unwrap(
        api.DELETE('/v1/passkeys/{id}', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'passkeys',
  });
  return (
    <li className={ROW} data-passkey={passkey.id}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <Untrusted text={passkey.name} />
        <span className="block text-meta text-ink-2">
          added <Ago at={passkey.created_at} /> ·{' '}
          {passkey.last_used_at ? (
            <>
              used <Ago at={passkey.last_used_at} />
            </>
          ) : (
            'never used'
          )}
        </span>
      </span>
      <Sure
        word="Remove passkey"
        again="Confirm: remove passkey"
        disabledReason={bar ?? remove.bar}
        onSure={() => remove.go(passkey.id)}
      />
    </li>
  );
}

async function add(name: string, key: string): Promise<Schemas['Passkey']> {
  const { id, options } = await unwrap(api.POST('/v1/passkeys', { body: { name } }));
  const body = await createPasskey(options);
  const params = { path: { id }, header: { 'Idempotency-Key': key } };
  return unwrap(api.POST('/v1/passkeys/{id}', { params, body }));
}

/** Passkeys of the reader, which confirm high-risk decisions. */
export function PasskeysPage() {
  const bar = useWriteBar();
  const { data, error } = useQuery(passkeysQuery());
  const [name, setName] = useState('');
  const made = useSend({ send: add, touches: 'passkeys', onDone: () => setName('') });
  useTitle('Passkeys');
  return (
    <>
      <ListCard title="Your passkeys" none={NONE} items={data?.items} error={error}>
        {(passkey) => <One key={passkey.id} passkey={passkey} />}
      </ListCard>
      <FormCard
        title="Add a passkey"
        word="Add passkey"
        busy="Waiting for your passkey…"
        isPending={made.isPending}
        disabledReason={bar ?? (name.trim() ? undefined : 'Enter a name.')}
        error={made.error}
        onSend={() => made.go(name.trim())}
      >
        <Field
          label="Passkey name"
          says="Your browser then asks where to create it: this device, a phone or a security key."
          value={name}
          maxLength={128}
          onChange={setName}
        />
      </FormCard>
    </>
  );
}
