import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toast } from 'sonner';
import { LINK } from '@/ui/look';
import { Untrusted } from '@/ui/Untrusted';
import { openFor, type PendingChange, waits } from './pending';
import { openChangesQuery } from './queries';

/** Time in which the link of the toast can be reached. */
const TOAST_MS = 10_000;

function ChangesLink({ children }: { children: ReactNode }) {
  return (
    <Link to="/changes" className={LINK}>
      {children}
    </Link>
  );
}

/** Reports that a change was accepted but is not in force yet. */
export function announce(change: PendingChange): void {
  toast(`Proposed: ${waits(change)}`, {
    description: <ChangesLink>Pending changes</ChangesLink>,
    duration: TOAST_MS,
  });
}

interface Props {
  kinds: RegExp;
  /** Without an object, every open change of these kinds is named. */
  object?: string;
}

/** Notes that say next to an object, or on its page, that a change of it is proposed. */
export function Proposed({ kinds, object }: Props) {
  const { data = [] } = useQuery(openChangesQuery());
  return openFor(data, kinds, object).map((change) => (
    <p key={change.id} className="w-full text-meta text-ink-2" data-proposed={change.kind}>
      {object === undefined && (
        <>
          <Untrusted text={change.object} />:{' '}
        </>
      )}
      <ChangesLink>proposed, {waits(change)}</ChangesLink>
    </p>
  ));
}
