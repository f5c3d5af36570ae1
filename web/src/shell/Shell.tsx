import { Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { Toaster } from 'sonner';
import { ConfirmDialog } from '@/confirm/ConfirmDialog';
import { useNeeds } from '@/inbox/data';
import { KeysHeld, useActions, useKeyboard } from '@/keys/react';
import type { Action } from '@/keys/registry';
import { mayRead } from '@/session/access';
import { EndsSoon } from '@/session/Expired';
import { useMe } from '@/session/session';
import { toggleTheme, useTheme } from '@/theme/theme';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { FreezeBanner, FreezeButton, InstallationBanner } from './Freeze';
import { Help } from './Help';
import { Nav, PhoneNav } from './Nav';
import { Pill } from './Pill';
import { UserMenu } from './UserMenu';

const Palette = lazy(() => import('./Palette'));

const PLACES = [
  ['/inbox', 'inbox', 'g i'],
  ['/tasks', 'tasks', 'g t'],
  ['/locks', 'locks', 'g l'],
  ['/agents', 'agents', 'g a'],
  ['/policies', 'policies', 'g p'],
  ['/changes', 'pending changes', 'g c'],
  ['/audit', 'audit log', 'g u'],
  ['/overview', 'overview', 'g o'],
  ['/settings', 'settings', 'g s'],
] as const;

function useShellActions(show: (what: 'palette' | 'help') => void): void {
  const navigate = useNavigate();
  const isAuditReader = mayRead(useMe(), 'audit');
  const group = 'Anywhere';
  const actions: Action[] = [
    {
      id: 'palette',
      title: 'Search and commands',
      group,
      keys: ['$mod+k'],
      run: () => show('palette'),
      isLocal: true,
    },
    { id: 'help', title: 'Show keyboard shortcuts', group, keys: ['?'], run: () => show('help') },
    ...PLACES.filter(([to]) => to !== '/audit' || isAuditReader).map(
      ([to, words, keys]) =>
        ({
          id: to,
          title: `Go to ${words}`,
          group,
          keys: [keys],
          run: () => void navigate({ to, search: {} }),
        }) as const,
    ),
    {
      id: 'theme',
      title: 'Switch between light and dark theme',
      group,
      keys: ['t'],
      run: toggleTheme,
    },
  ];
  useActions(actions);
}

/** Layout around every page. */
export function Shell() {
  const [open, setOpen] = useState<'palette' | 'help'>();
  const theme = useTheme();
  const needs = useNeeds();
  const count = needs.rows.length;
  useKeyboard();
  useShellActions(setOpen);
  const close = () => setOpen(undefined);
  return (
    <div className="flex h-dvh flex-col">
      <a
        href="#main"
        className={classes(
          'sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2',
          'focus:rounded-control focus:bg-surface focus:px-3 focus:py-2',
        )}
      >
        Skip to content
      </a>
      <InstallationBanner />
      <FreezeBanner />
      <EndsSoon />
      <div className="flex min-h-0 flex-1">
        <Nav inbox={count} isMore={needs.isPartial} onHelp={() => setOpen('help')} />
        <div className="flex min-w-0 flex-1 flex-col">
          <header
            className={classes(
              'flex h-11 shrink-0 items-center gap-3 border-b border-line px-5 max-md:px-3',
            )}
          >
            <button
              type="button"
              onClick={() => setOpen('palette')}
              className={classes(
                'flex h-7 items-center gap-2 rounded-control px-2 text-meta text-ink-3',
                'hover:bg-sunken max-md:h-11',
              )}
            >
              <Icon name="search" />
              <span className="max-md:sr-only">Search and commands</span>
              <kbd aria-hidden="true" className="font-mono text-key max-md:hidden">
                Ctrl K
              </kbd>
            </button>
            <div className="flex-1" />
            <Pill />
            <FreezeButton />
            <UserMenu />
          </header>
          <main id="main" tabIndex={-1} className="min-h-0 flex-1 outline-none">
            <Outlet />
          </main>
        </div>
      </div>
      <PhoneNav inbox={count} isMore={needs.isPartial} />
      <Help isOpen={open === 'help'} onClose={close} />
      {open === 'palette' && (
        <Suspense fallback={<KeysHeld />}>
          <Palette onClose={close} />
        </Suspense>
      )}
      <ConfirmDialog />
      <Toaster
        theme={theme}
        position="bottom-center"
        // Above the decision bar.
        offset={{ bottom: 80 }}
        mobileOffset={{ bottom: 140 }}
        closeButton
        visibleToasts={3}
      />
    </div>
  );
}
