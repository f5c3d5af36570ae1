import { useQuery } from '@tanstack/react-query';
import { Mark } from '@/shell/Mark';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Named } from '@/ui/Named';
import { providersQuery } from './queries';
import { loginPath, problemOf, type Providers, tenantToJoin } from './wire';

const LOOK = classes(
  'flex h-11 items-center justify-center rounded-control bg-accent px-4',
  'font-medium text-on-accent hover:opacity-90',
);

interface WaysProps {
  ways: Providers['providers'];
  returnTo: string;
  /** The tenant to join. */
  tenant?: string | undefined;
  isNewTab?: boolean;
}

/** Plain links: signing in leaves the page and continues at the identity provider. */
export function Ways({ ways, returnTo, tenant, isNewTab }: WaysProps) {
  return (
    <ul className="space-y-2">
      {ways.map(({ name, title }) => (
        <li key={name}>
          <a
            href={loginPath(name, returnTo, tenant)}
            className={LOOK}
            {...(isNewTab ? { target: '_blank', rel: 'opener' } : {})}
          >
            {tenant ? 'Join' : 'Sign in'} with {title}
          </a>
        </li>
      ))}
    </ul>
  );
}

interface LookProps {
  ways: Providers['providers'] | undefined;
  isFailed: boolean;
  /** Why the last sign-in failed. */
  problem?: string | undefined;
  returnTo: string;
  /** The tenant that the person is asked to join. */
  tenant?: string | undefined;
  onRetry: () => void;
}

export function LoginLook({ ways, isFailed, problem, returnTo, tenant, onRetry }: LookProps) {
  return (
    <main className="grid min-h-dvh place-items-center px-6">
      <div className="card w-full max-w-[380px] p-8">
        <Mark />
        <h1 className="mt-6 text-h1 font-semibold">{tenant ? 'Join a tenant' : 'Sign in'}</h1>
        {tenant ? (
          <p className="mt-2 mb-6 text-ink-2">
            You become a member of <Named text={tenant} />. Its admins then see your name and your
            email address. If you do not know this tenant, leave this page.
          </p>
        ) : (
          <p className="mt-2 mb-6 text-ink-2">
            Decisions are recorded in your name. After signing in, you return to this page.
          </p>
        )}
        {problem && (
          <p role="alert" className="mb-6 border-l-2 border-danger pl-3">
            {problem}
          </p>
        )}
        {ways && ways.length > 0 && <Ways ways={ways} returnTo={returnTo} tenant={tenant} />}
        {ways?.length === 0 && (
          <p role="status">No identity provider is set up here. Ask an admin for an invitation.</p>
        )}
        {!ways && isFailed && (
          <div role="alert" className="space-y-3">
            <p>The sign-in methods could not be loaded.</p>
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
  const tenant = tenantToJoin(location);
  return (
    <LoginLook
      ways={data?.providers}
      isFailed={Boolean(error)}
      problem={problem}
      returnTo={problem || tenant ? '/inbox' : location.pathname + location.search}
      tenant={tenant}
      onRetry={() => void refetch()}
    />
  );
}
