import { useQuery } from '@tanstack/react-query';
import { Mark } from '@/shell/Mark';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { providersQuery } from './queries';
import { loginPath, problemOf, type Providers } from './wire';

const LOOK = classes(
  'flex h-11 items-center justify-center rounded-control bg-accent px-4',
  'font-medium text-on-accent hover:opacity-90',
);

interface WaysProps {
  ways: Providers['providers'];
  returnTo: string;
  isNewTab?: boolean;
}

/** Leaves the page on purpose: the company's own sign-in decides, not this script. */
export function Ways({ ways, returnTo, isNewTab }: WaysProps) {
  return (
    <ul className="space-y-2">
      {ways.map(({ name, title }) => (
        <li key={name}>
          <a
            href={loginPath(name, returnTo)}
            className={LOOK}
            {...(isNewTab ? { target: '_blank', rel: 'opener' } : {})}
          >
            Sign in with {title}
          </a>
        </li>
      ))}
    </ul>
  );
}

interface LookProps {
  ways: Providers['providers'] | undefined;
  isFailed: boolean;
  /** Why the last try did not succeed. */
  problem?: string | undefined;
  returnTo: string;
  onRetry: () => void;
}

export function LoginLook({ ways, isFailed, problem, returnTo, onRetry }: LookProps) {
  return (
    <main className="grid min-h-dvh place-items-center px-6">
      <div className="card w-full max-w-[380px] p-8">
        <Mark />
        <h1 className="mt-6 text-h1 font-semibold">Sign in</h1>
        <p className="mt-2 mb-6 text-ink-2">
          Decisions are made in your own name. After signing in you come back to this page.
        </p>
        {problem && (
          <p role="alert" className="mb-6 border-l-2 border-danger pl-3">
            {problem}
          </p>
        )}
        {ways && ways.length > 0 && <Ways ways={ways} returnTo={returnTo} />}
        {ways?.length === 0 && (
          <p role="status">Nobody has set up a way to sign in here yet. Ask whoever runs ADE.</p>
        )}
        {!ways && isFailed && (
          <div role="alert" className="space-y-3">
            <p>The server does not say how to sign in.</p>
            <Button onClick={onRetry}>Try again</Button>
          </div>
        )}
        {!ways && !isFailed && (
          <span className="waiting block h-11" role="status" aria-label="Loading" />
        )}
        <p className="mt-4 text-meta text-ink-3">
          Agents use tokens and do not sign in here. In a terminal:{' '}
          <code className="font-mono">ade login</code>
        </p>
      </div>
    </main>
  );
}

export function Login() {
  const { data, error, refetch } = useQuery(providersQuery());
  const problem = problemOf(location);
  return (
    <LoginLook
      ways={data?.providers}
      isFailed={Boolean(error)}
      problem={problem}
      returnTo={problem ? '/inbox' : location.pathname + location.search}
      onRetry={() => void refetch()}
    />
  );
}
