import { useNow } from '@/time/useNow';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { daysFrom, spanOf } from './calendar';

interface Line {
  readonly id: string;
  readonly word: string;
  readonly startsAt: string;
  readonly endsAt: string;
}

/** Calendar of four weeks. The list beside it has the same information as text. */
export function Calendar({ lines }: { lines: readonly Line[] }) {
  const now = useNow(60_000).there;
  const days = daysFrom(now);
  return (
    <div aria-hidden="true" className="max-md:hidden" data-calendar>
      <div className="grid grid-cols-[repeat(28,minmax(0,1fr))] text-center text-meta text-ink-3">
        {days.map(({ key, number, isRest }, nth) => (
          <span key={key} className={classes(isRest && 'bg-sunken', nth === 0 && 'text-accent')}>
            {number}
          </span>
        ))}
      </div>
      {lines.map(({ id, word, startsAt, endsAt }) => {
        const span = spanOf(startsAt, endsAt, now);
        if (!span) return null;
        return (
          <div key={id} className="relative mt-1 h-6 rounded-chip bg-sunken" data-line={id}>
            <span
              className={classes(
                'absolute inset-y-0 min-w-2 truncate rounded-chip border border-accent',
                'bg-accent-soft px-1.5 text-meta leading-[22px] text-accent',
              )}
              style={{ left: `${span.from * 100}%`, width: `${(span.to - span.from) * 100}%` }}
            >
              <Untrusted text={word} />
            </span>
          </div>
        );
      })}
    </div>
  );
}
