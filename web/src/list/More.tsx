import { type ReactNode, useState } from 'react';
import { useFolded } from '@/reading/react';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';

interface Props<Item> {
  items: readonly Item[];
  /** Items shown at first and added per click; showing all would slow the page down. */
  step?: number;
  what?: 'lines' | 'changes';
  className?: string;
  children: (shown: readonly Item[]) => ReactNode;
}

/** Shows the first items and a button for more, for items too uneven for a `List`. In a content to
 *  vote on, one cannot vote until all are shown. */
export function More<Item>({ items, step = 50, what, className, children }: Props<Item>) {
  const [most, setMost] = useState(step);
  const rest = items.length - most;
  useFolded(rest > 0);
  const words = [rest.toLocaleString('en'), 'more', what, 'not shown'];
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
          {rest > step && <Button onClick={() => setMost(items.length)}>Show all</Button>}
        </p>
      )}
    </>
  );
}
