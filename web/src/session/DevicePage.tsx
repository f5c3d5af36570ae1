import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { Check } from '@/settings/parts';
import { MEANS, type Scope } from '@/settings/scopes';
import { useTitle } from '@/shell/useTitle';
import { useNow } from '@/time/useNow';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Fact } from '@/ui/Fact';
import { Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Page } from '@/ui/Page';
import { Refusal } from '@/ui/Refusal';
import { Ago, Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { codeOf, type DeviceRequest, type Stage, stageOf } from './device';
import { useMe } from './session';

/** Lifetime of the token, as enforced by the server: one that decides is valid for eight hours. */
const DAYS = 30;

/** Scopes that are selected at first. */
const DEFAULTS: readonly Scope[] = ['read', 'propose'];

const deviceQuery = (code: string | undefined) =>
  queryOptions({
    queryKey: ['device', code],
    enabled: code !== undefined,
    retry: false,
    queryFn: () =>
      unwrap(api.GET('/v1/device/{user_code}', { params: { path: { user_code: code ?? '' } } })),
  });

function CodeForm({ start, onCode }: { start: string; onCode: (code: string) => void }) {
  const [typed, setTyped] = useState(start);
  const code = codeOf(typed);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (code) onCode(code);
  };
  return (
    <form className="flex flex-wrap items-end gap-2" onSubmit={send}>
      <Field
        label="Code shown in your terminal"
        value={typed}
        maxLength={32}
        placeholder="BCDF-GHJK"
        className="font-mono uppercase"
        onChange={setTyped}
      />
      <Button
        type="submit"
        tone="primary"
        disabledReason={code ? undefined : 'Enter the eight-letter code.'}
      >
        Continue
      </Button>
    </form>
  );
}

function Asks({ request }: { request: DeviceRequest }) {
  const { user_code: code, client_name: name, address, user_agent: program } = request;
  return (
    <dl>
      <Fact word="Code">
        <strong className="font-mono text-title" data-code={code}>
          {code}
        </strong>
      </Fact>
      <Fact word="Name">
        {name ? <Named text={name} /> : 'No name given'}
        {program && (
          <span className="block text-meta text-ink-2">
            <Untrusted text={program} />
          </span>
        )}
      </Fact>
      <Fact word="Address">
        {address ? <span className="font-mono">{address}</span> : 'Unknown address'}
        {request.address_differs && (
          <span
            role="alert"
            className="mt-1 block rounded-control border border-high-mark px-3 py-2"
          >
            This is not the address of your browser. Continue only if you ran{' '}
            <code className="font-mono">ade login</code> on a remote machine.
          </span>
        )}
      </Fact>
      <Fact word="Requested">
        <Ago at={request.created_at} />, expires in <Due at={request.expires_at} />
      </Fact>
    </dl>
  );
}

interface AnswerProps {
  request: DeviceRequest;
  offered: readonly Scope[];
  disabledReason: string | undefined;
  isPending: boolean;
  error: unknown;
  onAnswer: (scopes: readonly Scope[] | undefined) => void;
}

function Answer({ request, offered, disabledReason, isPending, error, onAnswer }: AnswerProps) {
  const [chosen, setChosen] = useState(DEFAULTS);
  const scopes = offered.filter((one) => chosen.includes(one));
  const lifetime = scopes.includes('decide') ? '8 hours' : `${DAYS} days`;
  const none = scopes.length === 0 ? 'Select at least one permission.' : undefined;
  return (
    <Card title="A terminal wants to sign in as you">
      <div className="space-y-4">
        <Asks request={request} />
        <p className="text-ink-2">
          Authorize it only if you have just run <code className="font-mono">ade login</code> and
          your terminal shows this code. It gets a token in your name for {lifetime}.
        </p>
        <fieldset>
          <legend className="font-medium">Permissions</legend>
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
        <Refusal error={error} />
        <div className="flex flex-wrap gap-2">
          <Button
            tone="primary"
            disabledReason={disabledReason ?? none}
            onClick={() => onAnswer(scopes)}
          >
            {isPending ? 'Sending…' : 'Authorize'}
          </Button>
          <Button tone="danger" disabledReason={disabledReason} onClick={() => onAnswer(undefined)}>
            Deny
          </Button>
        </div>
      </div>
    </Card>
  );
}

const SAID: Record<'approved' | 'denied', readonly [title: string, says: string]> = {
  approved: [
    'Terminal authorized',
    'Your terminal continues in a few seconds. You can close this page.',
  ],
  denied: [
    'Sign-in denied',
    'If you did not request this sign-in, someone may be trying to access your account.',
  ],
};

interface LookProps extends Omit<AnswerProps, 'request'> {
  stage: Stage;
  request: DeviceRequest | undefined;
  start: string;
  trouble: unknown;
  onCode: (code: string) => void;
  onRetry: () => void;
}

export function DeviceLook(props: LookProps) {
  const { stage, request, start, trouble, onCode, onRetry, ...answer } = props;
  const again = <CodeForm key={start} start={stage === 'typing' ? start : ''} onCode={onCode} />;
  const card = (title: string, children: ReactNode) => <Card title={title}>{children}</Card>;
  switch (stage) {
    case 'typing':
      return card('Enter the code', again);
    case 'loading':
      return card(
        'Loading the request',
        <span role="status" aria-label="Loading" className="waiting" />,
      );
    case 'failed':
      return card(
        'The request could not be loaded',
        <div className="space-y-3">
          <Refusal error={trouble} />
          <Button onClick={onRetry}>Try again</Button>
        </div>,
      );
    case 'gone':
      return card(
        'No terminal is waiting with this code',
        <div className="space-y-3" role="status">
          <p className="text-ink-2">
            The code is mistyped, was already used, or expired after ten minutes. Run{' '}
            <code className="font-mono">ade login</code> again and enter the new code.
          </p>
          {again}
        </div>,
      );
    case 'asked':
      return request ? <Answer request={request} {...answer} /> : null;
    default:
      return card(SAID[stage][0], <p role="status">{SAID[stage][1]}</p>);
  }
}

/** Page where a person authorizes a terminal that has no browser. */
export function DevicePage() {
  const me = useMe();
  const bar = useWriteBar();
  const now = useNow(1_000);
  const navigate = useNavigate();
  const client = useQueryClient();
  const { code: given } = useSearch({ from: '/device' });
  const code = codeOf(given ?? '');
  const { data, error, refetch } = useQuery(deviceQuery(code));
  useTitle('Sign in a terminal');
  const send = useSend({
    send: (scopes: readonly Scope[] | undefined, key) => {
      const params = {
        path: { user_code: code ?? '' },
        header: { 'Idempotency-Key': key },
      };
      return scopes
        ? unwrap(
            api.POST('/v1/device/{user_code}/approve', {
              params,
              body: { scopes: [...scopes], days: DAYS },
            }),
          )
        : unwrap(api.POST('/v1/device/{user_code}/deny', { params }));
    },
    touches: 'device',
    // The terminal may collect its token before the next request, which would then find nothing.
    onDone: (answer) => client.setQueryData(deviceQuery(code).queryKey, answer),
  });
  return (
    <Page title="Sign in a terminal">
      <DeviceLook
        stage={stageOf({ code, request: data, error, now: now.there })}
        request={data}
        start={given ?? ''}
        trouble={error}
        offered={me.scopes}
        disabledReason={me.isAgent ? 'Only people can authorize a terminal.' : (bar ?? send.bar)}
        isPending={send.isPending}
        error={send.error}
        onAnswer={send.go}
        onCode={(next) => void navigate({ to: '/device', search: { code: next } })}
        onRetry={() => void refetch()}
      />
    </Page>
  );
}
