import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
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
  ['/settings/webhooks', 'Webhooks'],
  ['/settings/events', 'Events'],
] as const;

/** What is around every page of settings. */
export function SettingsPage() {
  const { pathname } = useLocation();
  const here = useRef<HTMLAnchorElement>(null);
  // On a phone not all of them fit beside each other.
  useEffect(() => here.current?.scrollIntoView({ block: 'nearest', inline: 'center' }), [pathname]);
  return (
    <Page title="Settings">
      <nav
        aria-label="Settings"
        className="-mx-1 flex gap-1 overflow-x-auto border-b border-line px-1 pb-3"
      >
        {PLACES.map(([to, word]) => (
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
      <Outlet />
    </Page>
  );
}
