import type { ReactNode } from 'react';

/** Shown instead of content that the reader has no access to. */
export function NoAccess({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div data-no-access className="mx-auto max-w-[560px] px-6 py-12 text-center">
      <h2 className="text-title font-semibold">{title}</h2>
      <div className="mt-2 text-ink-2">{children ?? 'Ask an admin for a role with access.'}</div>
    </div>
  );
}
