import { useEffect } from 'react';
import { Mark } from '@/shell/Mark';
import { tellSignedIn } from './expiry';

/** Landing page of a sign-in in another tab; the original tab continues. */
export function SignedIn() {
  useEffect(tellSignedIn, []);
  return (
    <div className="grid h-full place-items-center px-6">
      <div className="card w-full max-w-[380px] p-8">
        <Mark />
        <h1 className="mt-6 text-h1 font-semibold">You are signed in</h1>
        <p className="mt-2 text-ink-2">The original page continues. You can close this tab.</p>
      </div>
    </div>
  );
}
