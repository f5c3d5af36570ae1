import { Link } from '@tanstack/react-router';
import { classes } from '@/ui/classes';

export function NotFound() {
  return (
    <div className="mx-auto max-w-[560px] px-6 py-16">
      <h1 className="text-title font-semibold">There is nothing here</h1>
      <p className="mt-2 text-ink-2">
        The address may be mistyped, or what was here is gone or not for you: the server says the
        same in both cases.
      </p>
      <Link
        to="/inbox"
        search={{}}
        className={classes(
          'mt-5 inline-flex h-8 items-center rounded-control border border-line-strong',
          'bg-surface px-3 font-medium hover:bg-sunken',
        )}
      >
        To the inbox
      </Link>
    </div>
  );
}
