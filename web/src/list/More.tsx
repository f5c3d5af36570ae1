import { type ReactNode, useState } from 'react';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';

interface Props<Item> {
  items: readonly Item[];
  /** As many as somebody looks through; with more of them the page would only grow slow. */
  step?: number;
  what?: 'lines' | 'changes';
  className?: string;
  children: (shown: readonly Item[]) => ReactNode;
}

/** The first of many, and a way to those after them: for what is too uneven for a `List`. */
export function More<Item>({ items, step = 50, what, className, children }: Props<Item>) {
  const [most, setMost] = useState(step);
  const rest = items.length - most;
  const words = [rest.toLocaleString('en'), 'more', what, 'are not shown'];
  return (
    <>
      {children(items.slice(0, most))}
      {rest > 0 && (
        <p
          className={classes(
            'flex items-center gap-4 font-sans text-meta text-ink-2',
            className ?? 'px-5 pb-6 max-md:px-4',
          )}
        >
          {words.filter(Boolean).join(' ')}
          <Button onClick={() => setMost(most + step)}>Show {Math.min(step, rest)} more</Button>
        </p>
      )}
    </>
  );
}
