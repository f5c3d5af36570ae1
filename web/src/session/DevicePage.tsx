import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api, taken } from '@/api/client';
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

/** As long as the server lets such a token live. */
const DAYS = 30;

const deviceQuery = (code: string | undefined) =>
  queryOptions({
    queryKey: ['device', code],
    enabled: code !== undefined,
    retry: false,
    queryFn: () =>
      taken(api.GET('/v1/device/{user_code}', { params: { path: { user_code: code ?? '' } } })),
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
        label="The code that your terminal shows"
        value={typed}
        maxLength={32}
        placeholder="BCDF-GHJK"
        className="font-mono uppercase"
        onChange={setTyped}
      />
      <Button
        type="submit"
        tone="primary"
        barred={code ? undefined : 'A code has eight letters, without vowels.'}
      >
        Go on
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
      <Fact word="Calls itself">
        {name ? <Named text={name} /> : 'It gives no name.'}
        {program && (
          <span className="block text-meta text-ink-2">
            <Untrusted text={program} />
          </span>
        )}
      </Fact>
      <Fact word="Asks from">
        {address ? <span className="font-mono">{address}</span> : 'An unknown address'}
      </Fact>
      <Fact word="Asked">
        <Ago at={request.created_at} />, and waits for another <Due at={request.expires_at} />
      </Fact>
    </dl>
  );
}

interface AnswerProps {
  request: DeviceRequest;
  offered: readonly Scope[];
  barred: string | undefined;
  isPending: boolean;
  error: unknown;
  onAnswer: (scopes: readonly Scope[] | undefined) => void;
}

function Answer({ request, offered, barred, isPending, error, onAnswer }: AnswerProps) {
  const [left, setLeft] = useState<readonly Scope[]>([]);
  const scopes = offered.filter((one) => !left.includes(one));
  const none = scopes.length === 0 ? 'Say what it may do.' : undefined;
  return (
    <Card title="A terminal asks to be let in as you">
      <div className="space-y-4">
        <Asks request={request} />
        <p className="text-ink-2">
          Say yes only if you have just run <code className="font-mono">ade login</code> yourself
          and it shows this code. Whoever asks gets a token in your name, for {DAYS} days.
        </p>
        <fieldset>
          <legend className="font-medium">What it may do</legend>
          <div className="mt-1 flex flex-wrap gap-x-5 gap-y-1">
            {offered.map((scope) => (
              <Check
                key={scope}
                label={MEANS[scope]}
                isOn={!left.includes(scope)}
                onChange={(isOn) =>
                  setLeft(isOn ? left.filter((one) => one !== scope) : [...left, scope])
                }
              />
            ))}
          </div>
        </fieldset>
        <Refusal error={error} />
        <div className="flex flex-wrap gap-2">
          <Button tone="primary" barred={barred ?? none} onClick={() => onAnswer(scopes)}>
            {isPending ? 'Sending…' : 'Let it in'}
          </Button>
          <Button tone="danger" barred={barred} onClick={() => onAnswer(undefined)}>
            Turn it away
          </Button>
        </div>
      </div>
    </Card>
  );
}

const SAID: Record<'approved' | 'denied', readonly [title: string, says: string]> = {
  approved: ['It is let in', 'Your terminal goes on within some seconds. You can close this page.'],
  denied: [
    'It was turned away',
    'It gets nothing. If you did not ask, somebody else has tried to get in as you.',
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
  const told = (title: string, children: ReactNode) => <Card title={title}>{children}</Card>;
  switch (stage) {
    case 'typing':
      return told('Which terminal', again);
    case 'loading':
      return told(
        'Looking for it',
        <span role="status" aria-label="Loading" className="waiting" />,
      );
    case 'failed':
      return told(
        'It could not be looked for',
        <div className="space-y-3">
          <Refusal error={trouble} />
          <Button onClick={onRetry}>Try again</Button>
        </div>,
      );
    case 'gone':
      return told(
        'No terminal waits with this code',
        <div className="space-y-3" role="status">
          <p className="text-ink-2">
            It is mistyped, somebody has answered it, or ten minutes are over. Run{' '}
            <code className="font-mono">ade login</code> again, and type what it shows.
          </p>
          {again}
        </div>,
      );
    case 'asked':
      return request ? <Answer request={request} {...answer} /> : null;
    default:
      return told(SAID[stage][0], <p role="status">{SAID[stage][1]}</p>);
  }
}

/** Where somebody lets a terminal in that has no browser of its own. */
export function DevicePage() {
  const me = useMe();
  const bar = useWriteBar();
  const now = useNow(1_000);
  const navigate = useNavigate();
  const client = useQueryClient();
  const { code: given } = useSearch({ from: '/device' });
  const code = codeOf(given ?? '');
  const { data, error, refetch } = useQuery(deviceQuery(code));
  useTitle('Let a terminal in');
  const send = useSend({
    send: (scopes: readonly Scope[] | undefined, key) => {
      const params = {
        path: { user_code: code ?? '' },
        header: { 'Idempotency-Key': key },
      };
      return scopes
        ? taken(
            api.POST('/v1/device/{user_code}/approve', {
              params,
              body: { scopes: [...scopes], days: DAYS },
            }),
          )
        : taken(api.POST('/v1/device/{user_code}/deny', { params }));
    },
    touches: 'device',
    // The terminal may be quicker than our next look, which would find nothing any more.
    onDone: (answer) => client.setQueryData(deviceQuery(code).queryKey, answer),
  });
  return (
    <Page title="Let a terminal in">
      <DeviceLook
        stage={stageOf({ code, request: data, error, now: now.there })}
        request={data}
        start={given ?? ''}
        trouble={error}
        offered={me.scopes}
        barred={me.isAgent ? 'Only people let terminals in.' : (bar ?? send.bar)}
        isPending={send.isPending}
        error={send.error}
        onAnswer={send.go}
        onCode={(next) => void navigate({ to: '/device', search: { code: next } })}
        onRetry={() => void refetch()}
      />
    </Page>
  );
}
