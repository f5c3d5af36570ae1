import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { span } from '@/time/clock';
import { useNow } from '@/time/useNow';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { noteSignedOut, onSignedIn, endsSoon, useIsSignedOut } from './expiry';
import { Ways } from './Login';
import { providersQuery, sessionQuery } from './queries';

/** Path where a sign-in in another tab ends, which notifies the waiting tab. */
export const BACK = '/signed-in';

export function ExpiredLook({
  ways,
  onCheck,
}: {
  ways: Parameters<typeof Ways>[0]['ways'];
  onCheck: () => void;
}) {
  return (
    <div
      role="alertdialog"
      aria-label="Session expired"
      className={classes(
        'fixed inset-x-3 bottom-3 z-50 mx-auto max-w-[480px] space-y-3',
        'card border-medium-mark p-4',
      )}
    >
      <h2 className="font-semibold">Session expired</h2>
      <p className="text-ink-2">
        Your input on this page is kept. Sign in again in another tab, and this page continues
        automatically.
      </p>
      <Ways ways={ways} returnTo={BACK} isNewTab />
      <Button onClick={onCheck}>I have signed in</Button>
    </div>
  );
}

/** Shown over the page, so that no typed text is lost. */
export function Expired() {
  const client = useQueryClient();
  const isOut = useIsSignedOut();
  const { data } = useQuery({ ...providersQuery(), enabled: isOut });
  const goOn = useCallback(() => {
    noteSignedOut(false);
    void client.invalidateQueries();
  }, [client]);
  useEffect(() => onSignedIn(goOn), [goOn]);
  if (!isOut) return null;
  return <ExpiredLook ways={data?.providers ?? []} onCheck={goOn} />;
}

/** Warning a few minutes before the session expires. */
export function EndsSoon() {
  const { data } = useQuery(sessionQuery());
  const { data: ways } = useQuery({ ...providersQuery(), enabled: Boolean(data) });
  const now = useNow(10_000);
  const left = data && endsSoon(data.expires_at, now.there);
  if (!left) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-3 border-b border-line bg-sunken px-5 py-2"
    >
      <p className="flex-1">Your session expires in {span(left)}. Sign in again to continue.</p>
      <div className="w-[280px]">
        <Ways ways={ways?.providers ?? []} returnTo={BACK} isNewTab />
      </div>
    </div>
  );
}
