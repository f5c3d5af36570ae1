import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { agentsQuery, usersQuery } from '@/api/queries';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { useMe } from '@/session/session';
import { isAdmin, useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { useNow } from '@/time/useNow';
import { Card } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { Choice, Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Secret } from '@/ui/Secret';
import { Sure } from '@/ui/Sure';
import { Ago, Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { Check, FormCard, ListCard, ROW } from './parts';
import { MEANS, type Scope } from './scopes';

type Token = Schemas['Token'];

const DAYS = [
  ['1', 'a day'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;

/** The server refuses the other scopes: people create such tokens themselves, and agents never
 *  decide. */
const FOR_OTHERS: readonly Scope[] = ['read', 'propose', 'execute'];

/** Owner of the token: the reader, another person or an agent. */
const holderOf = (whom: string) =>
  whom.startsWith('agt_') ? { agent_id: whom } : whom ? { user_id: whom } : {};

const tokensQuery = (whom: string) =>
  queryOptions({
    queryKey: ['tokens', whom],
    queryFn: async () => {
      const holder = holderOf(whom);
      const all = await everyPage((query) =>
        unwrap(api.GET('/v1/tokens', { params: { query: { ...holder, ...query } } })),
      );
      return all.items;
    },
  });

/** Reason why the reader cannot create or revoke a token, if any; those of others need an admin. */
function useTokenBar(isOwn: boolean): string | undefined {
  const [own, others] = [useWriteBar(), useAdminBar()];
  return isOwn ? own : others;
}

function One({ token }: { token: Token }) {
  const me = useMe();
  const bar = useTokenBar(token.user_id === me.id);
  const nameOf = useNames();
  const revoke = useSend({
    send: (id: string, key) =>
      unwrap(
        api.DELETE('/v1/tokens/{key_id}', {
          params: { path: { key_id: id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    touches: 'tokens',
  });
  const now = useNow(10_000);
  const isOver = token.revoked_at ?? Date.parse(token.expires_at) < now.there;
  return (
    <li className={ROW} data-key={token.key_id}>
      <span className="min-w-0 flex-1">
        <span className="font-mono text-meta">{token.key_id}</span>{' '}
        {token.label && <Untrusted text={token.label} />}
        <span className="block text-meta text-ink-2">
          created <Ago at={token.created_at} /> ·{' '}
          {token.last_used_at ? (
            <>
              last used <Ago at={token.last_used_at} />
            </>
          ) : (
            'never used'
          )}{' '}
          · {token.scopes.join(', ')}
          {token.networks.length > 0 && <> · from {token.networks.join(', ')}</>}
          {token.issued_by && token.issued_by !== token.user_id && (
            <>
              {' '}
              · issued by <Named text={nameOf(token.issued_by)} />
            </>
          )}
        </span>
      </span>
      {token.revoked_at ? (
        <Chip tone="quiet" sign="⊘">
          Revoked
        </Chip>
      ) : (
        <span className="text-meta text-ink-2">
          expires in <Due at={token.expires_at} />
        </span>
      )}
      {!isOver && (
        <Sure
          word="Revoke"
          again="Confirm: revoke token"
          disabledReason={bar ?? revoke.bar}
          onSure={() => revoke.go(token.key_id)}
        />
      )}
    </li>
  );
}

function NewToken({ whom, onMade }: { whom: string; onMade: (token: string) => void }) {
  const me = useMe();
  const isOwn = whom === '' || whom === me.id;
  const bar = useTokenBar(isOwn);
  const [label, setLabel] = useState('');
  const [networks, setNetworks] = useState('');
  const [days, setDays] = useState<(typeof DAYS)[number][0]>('30');
  const [chosen, setChosen] = useState<readonly Scope[]>(['read']);
  const make = useSend({
    send: (body: Schemas['NewToken'], key) =>
      unwrap(api.POST('/v1/tokens', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'tokens',
    onDone: ({ token }) => {
      if (token) onMade(token);
      setLabel('');
    },
  });
  const offered = isOwn ? me.scopes : FOR_OTHERS;
  const scopes = offered.filter((one) => chosen.includes(one));
  return (
    <FormCard
      title="Create a token"
      word="Create token"
      busy="Creating…"
      isPending={make.isPending}
      disabledReason={bar ?? (scopes.length === 0 ? 'Select at least one scope.' : undefined)}
      error={make.error}
      onSend={() =>
        make.go({
          ...holderOf(whom),
          scopes,
          days: Number(days),
          ...(label.trim() ? { label: label.trim() } : {}),
          networks: networks.split(/[\s,]+/).filter(Boolean),
        })
      }
    >
      <Field label="Description" value={label} maxLength={128} onChange={setLabel} />
      <Field
        label="Allowed networks"
        value={networks}
        maxLength={1024}
        placeholder="Any network, or 10.1.0.0/16, …"
        onChange={setNetworks}
      />
      <Choice label="Expires in" value={days} choices={DAYS} onChange={setDays} />
      <fieldset className="col-span-full">
        <legend className="font-medium">Scopes</legend>
        <div className="mt-1 flex flex-wrap gap-x-5 gap-y-1">
          {offered.map((scope) => (
            <Check
              key={scope}
              label={MEANS[scope]}
              isOn={chosen.includes(scope)}
              onChange={(isOn) =>
                setChosen(isOn ? [...chosen, scope] : chosen.filter((one) => one !== scope))
              }
            />
          ))}
        </div>
      </fieldset>
    </FormCard>
  );
}

/** API tokens. Each token is shown once, when it is created. */
export function TokensPage() {
  const me = useMe();
  const mayAsk = isAdmin(me);
  const [whom, setWhom] = useState('');
  const [made, setMade] = useState<string>();
  const { data: users } = useQuery({ ...usersQuery(), enabled: mayAsk });
  const { data: agents } = useQuery({ ...agentsQuery(), enabled: mayAsk });
  const { data, error } = useQuery(tokensQuery(whom));
  useTitle('Tokens');
  const others = [...(agents ?? []), ...(users ?? [])].map(({ id, name }) => [id, name] as const);
  const choose = (next: string) => {
    setWhom(next);
    setMade(undefined);
  };
  return (
    <>
      {mayAsk && (
        <div className="max-w-[360px]">
          <Choice
            label="Owner"
            value={whom}
            choices={[['', 'My tokens'], ...others]}
            onChange={choose}
          />
        </div>
      )}
      {made && (
        <Card title="New token">
          <Secret title="Shown only once" value={made} />
        </Card>
      )}
      <ListCard title="Tokens" none="No tokens yet." items={data} error={error}>
        {(token) => <One key={token.key_id} token={token} />}
      </ListCard>
      <NewToken key={whom} whom={whom} onMade={setMade} />
    </>
  );
}
