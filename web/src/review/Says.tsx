import type { Task } from '@/api/queries';
import { Named } from '@/ui/Named';

/** The author's own description, in a separate box away from the buttons. It is unverified. */
export function Says({ task, nameOf }: { task: Task; nameOf: (id: string) => string }) {
  const by = task.agent_id ? nameOf(task.agent_id) : nameOf(task.author_id);
  return (
    <figure
      data-untrusted
      className="self-start rounded-card border border-dashed border-line-strong px-4 py-2.5"
    >
      <figcaption className="text-meta text-ink-3">
        <Named text={by} /> says
        {task.agent_id && (
          <>
            {' '}
            for <Named text={nameOf(task.author_id)} />
          </>
        )}{' '}
        · unverified
      </figcaption>
      <blockquote className="mt-0.5 wrap-anywhere">
        <Named text={task.title} />
      </blockquote>
    </figure>
  );
}
