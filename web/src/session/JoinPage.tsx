import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Mark } from '@/shell/Mark';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Refusal } from '@/ui/Refusal';
import { acceptInvitation } from './wire';

/** Page that opens next: high-risk decisions require a passkey. */
const NEXT = '/settings/passkeys';

interface LookProps {
  hasInvitation: boolean;
  isPending: boolean;
  error: unknown;
  onAccept: () => void;
}

export function JoinLook({ hasInvitation, isPending, error, onAccept }: LookProps) {
  return (
    <main className="grid min-h-dvh place-items-center px-6">
      <div className="card w-full max-w-[380px] p-8">
        <Mark />
        <h1 className="mt-6 text-h1 font-semibold">You are invited</h1>
        {hasInvitation ? (
          <div className="mt-2 space-y-4">
            <p className="text-ink-2">
              This invitation signs you in once. Afterwards you add a passkey, which confirms your
              decisions. If this browser is signed in to another account, that session ends here.
            </p>
            <Refusal error={error} />
            <Button tone="primary" onClick={onAccept}>
              {isPending ? 'Signing in…' : 'Sign in'}
            </Button>
          </div>
        ) : (
          <p role="alert" className="mt-2 text-ink-2">
            The link is incomplete. Copy all of it, or ask an admin for a new invitation.
          </p>
        )}
      </div>
    </main>
  );
}

/** Accepts an invitation: the only page that works without a session. */
export function JoinPage() {
  const [invitation] = useState(() => location.hash.slice(1));
  const accept = useMutation({
    mutationFn: acceptInvitation,
    // Reloads the whole page, so that it uses the session of the new cookie.
    onSuccess: () => location.assign(NEXT),
  });
  useTitle('Invitation');
  // Removes the secret from the address bar and the history.
  useEffect(() => history.replaceState(history.state, '', location.pathname), []);
  return (
    <JoinLook
      hasInvitation={invitation !== ''}
      isPending={accept.isPending}
      error={accept.error}
      onAccept={() => accept.mutate(invitation)}
    />
  );
}
