import type { ReactNode } from 'react';

interface Props {
  title: string;
  /** Breadcrumb above the title. */
  trail?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}

/** Scrollable page with a title. */
export function Page({ title, trail, aside, children }: Props) {
  return (
    <div className="h-full overflow-y-auto" tabIndex={0} role="group" aria-label={title}>
      <div className="mx-auto max-w-[1040px] px-6 py-4 max-md:px-4">
        {trail && (
          <nav aria-label="Breadcrumb" className="text-meta text-ink-3">
            {trail}
          </nav>
        )}
        <header className="flex flex-wrap items-center gap-x-4 gap-y-2 pb-4">
          <h1 className="text-h1 font-semibold wrap-anywhere">{title}</h1>
          <span className="flex-1" />
          {aside}
        </header>
        <div className="grid gap-4">{children}</div>
      </div>
    </div>
  );
}
