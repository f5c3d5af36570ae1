import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { span } from '@/time/clock';
import { useNow } from '@/time/useNow';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { noteSignedOut, onSignedIn, endsSoon, useIsSignedOut } from './expiry';
import { Ways } from './Login';
import { providersQuery, sessionQuery } from './queries';

/** Where a sign-in in another tab ends; it closes the circle with the tab that waits. */
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
      aria-label="Your session has ended"
      className={classes(
        'fixed inset-x-3 bottom-3 z-50 mx-auto max-w-[480px] space-y-3',
        'card border-medium-mark p-4',
      )}
    >
      <h2 className="font-semibold">Your session has ended</h2>
      <p className="text-ink-2">
        This page stays as it is, with what you have typed. Sign in again in another tab; it goes on
        by itself.
      </p>
      <Ways ways={ways} returnTo={BACK} isNewTab />
      <Button onClick={onCheck}>I have signed in</Button>
    </div>
  );
}

/** Over the page, not instead of it: nothing that was typed is lost. */
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

/** Some minutes before the end, so that nobody is cut off in the middle of a sentence. */
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
      <p className="flex-1">Your session ends in {span(left)}. Sign in again to go on.</p>
      <div className="w-[280px]">
        <Ways ways={ways?.providers ?? []} returnTo={BACK} isNewTab />
      </div>
    </div>
  );
}
