import type { Task } from '@/api/queries';
import { Named } from '@/ui/Named';

/** What the author calls it, in a box of its own and never near the buttons. Nothing in it was
 *  checked by anybody. */
export function Says({ task, nameOf }: { task: Task; nameOf: (id: string) => string }) {
  const by = task.agent ? nameOf(task.agent) : nameOf(task.author);
  return (
    <figure
      data-untrusted
      className="self-start rounded-card border border-dashed border-line-strong px-4 py-2.5"
    >
      <figcaption className="text-meta text-ink-3">
        <Named text={by} /> says
        {task.agent && (
          <>
            {' '}
            for <Named text={nameOf(task.author)} />
          </>
        )}{' '}
        · not checked
      </figcaption>
      <blockquote className="mt-0.5 wrap-anywhere">
        <Named text={task.title} />
      </blockquote>
    </figure>
  );
}
