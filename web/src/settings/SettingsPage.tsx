import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { SetupNote } from '@/shell/SetupNote';
import { classes } from '@/ui/classes';
import { Page } from '@/ui/Page';

const PLACES = [
  ['/settings/tokens', 'Tokens'],
  ['/settings/sessions', 'Sessions'],
  ['/settings/passkeys', 'Passkeys'],
  ['/settings/notifications', 'Notifications'],
  ['/settings/delegations', 'Delegations'],
  ['/settings/on-call', 'On call'],
  ['/settings/people', 'People'],
  ['/settings/freezes', 'Freezes'],
  ['/settings/webhooks', 'Webhooks', 'webhooks'],
  ['/settings/events', 'Events', 'events'],
] as const;

/** Layout of all settings pages. */
export function SettingsPage() {
  const { pathname } = useLocation();
  const me = useMe();
  const places = PLACES.filter(([, , needs]) => !needs || mayRead(me, needs));
  const here = useRef<HTMLAnchorElement>(null);
  // On a phone not all tabs fit next to each other.
  useEffect(() => {
    // Newer browsers return a promise here, which React would take for a clean-up function.
    void here.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [pathname]);
  return (
    <Page title="Settings">
      <nav
        aria-label="Settings"
        className="-mx-1 flex gap-1 overflow-x-auto border-b border-line px-1 pb-3"
      >
        {places.map(([to, word]) => (
          <Link
            key={to}
            to={to}
            {...(pathname === to ? { ref: here } : {})}
            aria-current={pathname === to ? 'page' : undefined}
            className={classes(
              'flex h-8 shrink-0 items-center rounded-control border px-2.5 max-md:h-11',
              pathname === to
                ? 'border-line bg-surface font-medium text-ink'
                : 'border-transparent text-ink-2 hover:text-ink',
            )}
          >
            {word}
          </Link>
        ))}
      </nav>
      <SetupNote />
      <Outlet />
    </Page>
  );
}
