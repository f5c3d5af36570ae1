import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useState } from 'react';
import { useNames } from '@/api/names';
import { KeysHeld } from '@/keys/react';
import { useOperateBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { SearchField } from '@/ui/Field';
import { classes } from '@/ui/classes';
import { Blockers } from './Blockers';
import { Deadlocks } from './Deadlocks';
import { IncidentDialog } from './IncidentDialog';
import { LockTable } from './LockTable';
import { locksQuery } from './queries';

const LockDrawer = lazy(() => import('./LockDrawer'));
const route = getRouteApi('/locks');

const VIEWS = [
  ['blockers', 'Blockers'],
  ['all', 'All'],
  ['deadlocks', 'Deadlocks'],
] as const;

function Summary() {
  const { data } = useQuery(locksQuery());
  if (!data) return null;
  const waiting = data.items.reduce((sum, lock) => sum + lock.waiting, 0);
  return (
    <p className="text-meta text-ink-2">
      {data.items.length.toLocaleString('en')}
      {data.isCut && '+'} locked · {waiting.toLocaleString('en')} waiting
    </p>
  );
}

export function LocksPage() {
  const { view = 'blockers', resource, q = '' } = route.useSearch();
  const navigate = useNavigate({ from: '/locks' });
  const nameOf = useNames();
  const bar = useOperateBar();
  const [isTaking, setTaking] = useState(false);
  useTitle('Locks');
  const search = (next: ReturnType<typeof route.useSearch>) => {
    const now = { view: view === 'blockers' ? undefined : view, resource, q: q || undefined };
    void navigate({ to: '/locks', search: { ...now, ...next }, replace: true });
  };
  const open = useCallback(
    (name: string) =>
      void navigate({
        to: '/locks',
        search: (old) => ({ ...old, resource: name }),
        replace: true,
      }),
    [navigate],
  );
  return (
    <section aria-label="Locks" className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3 max-md:px-4">
        <h1 className="text-h1 font-semibold">Locks</h1>
        <div role="group" aria-label="View" className="flex gap-1">
          {VIEWS.map(([name, word]) => (
            <button
              key={name}
              type="button"
              aria-pressed={view === name}
              onClick={() => search({ view: name === 'blockers' ? undefined : name })}
              className={classes(
                'h-8 rounded-control border px-2.5 max-md:h-11',
                view === name
                  ? 'border-line bg-surface text-ink'
                  : 'border-transparent text-ink-2 hover:text-ink',
              )}
            >
              {word}
            </button>
          ))}
        </div>
        <Summary />
        <div className="flex-1 max-md:hidden" />
        {view === 'all' && (
          <SearchField
            label="Filter"
            placeholder="database:"
            value={q}
            onChange={(word) => search({ q: word || undefined })}
          />
        )}
        <Button disabledReason={bar} onClick={() => setTaking(true)}>
          Take lock…
        </Button>
      </div>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {view === 'blockers' && <Blockers nameOf={nameOf} onOpen={open} />}
        {view === 'all' && <LockTable filter={q} nameOf={nameOf} onOpen={open} />}
        {view === 'deadlocks' && <Deadlocks nameOf={nameOf} />}
      </div>
      {resource && (
        <Suspense fallback={<KeysHeld />}>
          <LockDrawer
            key={resource}
            resource={resource}
            nameOf={nameOf}
            onClose={() => search({ resource: undefined })}
          />
        </Suspense>
      )}
      {isTaking && <IncidentDialog onClose={() => setTaking(false)} />}
    </section>
  );
}
