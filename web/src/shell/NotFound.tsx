import { Link } from '@tanstack/react-router';
import { classes } from '@/ui/classes';

export function NotFound() {
  return (
    <div className="mx-auto max-w-[560px] px-6 py-16">
      <h1 className="text-title font-semibold">Page not found</h1>
      <p className="mt-2 text-ink-2">
        Check the address. The page may have been removed, or you may not have access to it.
      </p>
      <Link
        to="/inbox"
        search={{}}
        className={classes(
          'mt-5 inline-flex h-8 items-center rounded-control border border-line-strong',
          'bg-surface px-3 font-medium hover:bg-sunken',
        )}
      >
        Go to inbox
      </Link>
    </div>
  );
}
