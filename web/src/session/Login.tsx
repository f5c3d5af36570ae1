import { Mark } from '@/shell/Mark';
import { classes } from '@/ui/classes';

/** Leaves the page on purpose: the company's own sign-in decides, not this script. */
export function Login() {
  const here = location.pathname + location.search;
  return (
    <main className="grid min-h-dvh place-items-center px-6">
      <div className="card w-full max-w-[380px] p-8">
        <Mark />
        <h1 className="mt-6 text-h1 font-semibold">Sign in</h1>
        <p className="mt-2 text-ink-2">
          Decisions are made in your own name. After signing in you come back to this page.
        </p>
        <a
          href={`/v1/login?return_to=${encodeURIComponent(here)}`}
          className={classes(
            'mt-6 flex h-11 items-center justify-center rounded-control bg-accent px-4',
            'font-medium text-on-accent hover:opacity-90',
          )}
        >
          Sign in with your company account
        </a>
        <p className="mt-4 text-meta text-ink-3">
          Agents use tokens and do not sign in here. In a terminal:{' '}
          <code className="font-mono">ade login</code>
        </p>
      </div>
    </main>
  );
}
