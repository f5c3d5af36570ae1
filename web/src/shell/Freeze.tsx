import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { type Freeze, freezesQuery, type InstallationFreeze, statusQuery } from '@/api/queries';
import { useNames } from '@/api/names';
import { clockTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { Field } from '@/ui/Field';
import { Cancel, Dialog } from '@/ui/Dialog';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { Untrusted } from '@/ui/Untrusted';
import { useOperateBar } from './bars';
import { UnfreezeDialog } from './UnfreezeDialog';

function scopeWords(freeze: Freeze): string {
  return freeze.scope === 'tenant' ? 'Applies' : `Applies on ${freeze.target ?? freeze.scope}`;
}

function Stripe({
  head,
  reason,
  children,
}: {
  head: ReactNode;
  reason: string;
  children?: ReactNode;
}) {
  return (
    <div
      role="alert"
      className={classes(
        'striped flex min-h-10 flex-wrap items-center gap-x-4 gap-y-1 border-b',
        'border-medium-mark px-5 py-1.5 max-md:px-3',
      )}
    >
      <p className="flex min-w-0 flex-1 items-center gap-2 rounded-chip bg-surface px-2 py-0.5">
        <Icon name="snow" className="shrink-0 text-medium" />
        <span className="min-w-0 wrap-anywhere">
          <strong className="font-semibold">{head}</strong>
          {' — '}
          <Untrusted text={reason} />
        </span>
      </p>
      {children}
    </div>
  );
}

export function BannerLook({
  freeze,
  by,
  bar,
  onLift,
}: {
  freeze: Freeze;
  by: string;
  bar?: string | undefined;
  onLift: () => void;
}) {
  const since = clockTime(freeze.set_at).slice(0, 5);
  return (
    <Stripe head={`${scopeWords(freeze)} frozen since ${since} by ${by}`} reason={freeze.reason}>
      <Button size="small" disabledReason={bar} onClick={onLift}>
        Unfreeze…
      </Button>
    </Stripe>
  );
}

/** Cannot be lifted here: it was set by the operator of the server. */
export function InstallationLook({ freeze }: { freeze: InstallationFreeze }) {
  const since = clockTime(freeze.since).slice(0, 5);
  return (
    <Stripe
      head={
        <>
          Applies of all tenants frozen since {since} by <Untrusted text={freeze.set_by} />, the
          server operator
        </>
      }
      reason={freeze.reason}
    />
  );
}

export function InstallationBanner() {
  const { data } = useQuery(statusQuery());
  return data?.freeze ? <InstallationLook freeze={data.freeze} /> : null;
}

/** Banner on every page: while it is shown, no task is applied. */
export function FreezeBanner() {
  const { data } = useQuery(freezesQuery());
  const nameOf = useNames();
  const bar = useOperateBar();
  const [lifting, setLifting] = useState<Freeze>();
  const now = (data ?? []).filter(({ in_force: isInForce }) => isInForce);
  return (
    <>
      {now.map((freeze) => (
        <BannerLook
          key={freeze.id}
          freeze={freeze}
          by={nameOf(freeze.set_by)}
          bar={bar}
          onLift={() => setLifting(freeze)}
        />
      ))}
      {lifting && <UnfreezeDialog freeze={lifting} onClose={() => setLifting(undefined)} />}
    </>
  );
}

export function FreezeButton() {
  const [isOpen, setOpen] = useState(false);
  const bar = useOperateBar();
  return (
    <>
      <Button
        size="small"
        disabledReason={bar}
        onClick={() => setOpen(true)}
        className="max-md:h-9"
      >
        Freeze<span className="max-md:hidden -ml-1"> applies</span>
      </Button>
      {isOpen && <FreezeDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function FreezeDialog({ onClose }: { onClose: () => void }) {
  const [reason, setReason] = useState('');
  const freeze = useSend({
    send: (why: string, key) =>
      unwrap(
        api.POST('/v1/freezes', {
          params: { header: { 'Idempotency-Key': key } },
          body: { scope: 'tenant', reason: why },
        }),
      ),
    touches: 'freezes',
    onDone: onClose,
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Freeze all applies"
      says="No new task is applied until the freeze ends. Reviews and running applies continue."
    >
      <form
        className="p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (reason.trim()) freeze.go(reason.trim());
        }}
      >
        <Field
          label="Reason"
          value={reason}
          placeholder="INC-441: checkout is down"
          onChange={setReason}
        />
        <div className="mt-5 flex justify-end gap-2">
          <Cancel />
          <Button
            type="submit"
            tone="primary"
            disabledReason={reason.trim() ? undefined : 'Enter a reason. Everyone can read it.'}
          >
            {freeze.isPending ? 'Freezing…' : 'Freeze applies'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
