import type { ReactNode } from 'react';
import { clockTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Kbd } from '@/ui/Kbd';

/** Announces new rows; they are inserted only when the reader asks for them. */
export function FreshStrip({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <div role="status">
      {count > 0 && (
        <button
          type="button"
          onClick={onShow}
          className={classes(
            'flex h-9 w-full items-center justify-center gap-2 border-b border-line',
            'bg-accent-soft text-meta font-medium text-accent max-md:h-11',
          )}
        >
          {count} new · Show <Kbd keys="." />
        </button>
      )}
    </div>
  );
}

/** Shown above stale rows: when they were loaded, and a retry button. */
export function StaleStrip({ readAt, onRetry }: { readAt: number; onRetry: () => void }) {
  return (
    <div
      role="alert"
      className="flex min-h-9 items-center gap-3 border-b border-line bg-sunken px-5 py-1 text-meta"
    >
      <span className="flex-1">
        Showing data from {clockTime(readAt)}. The server is not responding.
      </span>
      <Button size="small" onClick={onRetry}>
        Retry
      </Button>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="flex-1 px-6 py-20 text-center">
      <h2 className="text-title font-semibold">{title}</h2>
      <div className="mx-auto mt-2 max-w-[440px] text-ink-2">{children}</div>
    </div>
  );
}
