import { type ReactNode, useId } from 'react';
import { classes } from './classes';

interface Props {
  title: string;
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** Section of a page with its own heading. */
export function Card({ title, aside, className, children }: Props) {
  const heading = useId();
  return (
    <section aria-labelledby={heading} className={classes('card min-w-0 px-4 py-3.5', className)}>
      <header className="flex min-h-6 items-center justify-between gap-3 pb-2">
        <h2 id={heading} className="font-semibold">
          {title}
        </h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** Placeholder for a section whose data is loading or failed to load. `room` is a class with about
 *  the final height, so that the content below does not move. */
export function CardWait({ error, room }: { error: unknown; room?: string }) {
  return error ? (
    <p className="text-meta text-ink-2">
      This section could not be loaded. It is retried on the next update.
    </p>
  ) : (
    <div className={room}>
      <span aria-label="Loading" role="status" className="waiting block h-4 w-2/3" />
    </div>
  );
}
