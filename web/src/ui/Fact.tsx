import type { ReactNode } from 'react';

/** One row of a description list: name and value. */
export function Fact({ word, children }: { word: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[120px_minmax(0,1fr)] gap-2 py-1">
      <dt className="text-ink-3">{word}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}
