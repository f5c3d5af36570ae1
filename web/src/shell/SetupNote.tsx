import { useMe } from '@/session/session';
import { isAdmin } from './bars';

/** Reminds admins that their changes to the rules need no second admin yet. */
export function SetupNote() {
  const me = useMe();
  if (!me.isInSetup || !isAdmin(me)) return null;
  return (
    <p role="note" data-setup className="rounded-control bg-sunken px-3 py-2 text-meta text-ink-2">
      This tenant is in setup: changes to its rules take effect without a second admin, until a
      second admin has joined or a first task was applied.
    </p>
  );
}
