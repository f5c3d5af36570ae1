import type { Task } from '@/api/queries';
import { ChangeList, Notes } from './Changes';
import { Program, Touches } from './Program';

const VIEW = { isSplit: false, isWhole: false } as const;

/** Everything that the digest covers, where one votes without the review page. */
export function Content({ shown }: { shown: Task }) {
  return (
    <div className="space-y-3" data-content={shown.digest}>
      <section aria-label="What would run">
        <Touches shown={shown} />
        <Program shown={shown} />
      </section>
      <section aria-label="Changes">
        <Notes effect={shown.effect} />
        <ChangeList effect={shown.effect} view={VIEW} />
      </section>
    </div>
  );
}
