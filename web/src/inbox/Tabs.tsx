import { classes } from '@/ui/classes';
import type { Tab } from './data';

const TABS: readonly (readonly [Tab, string])[] = [
  ['needs', 'Needs me'],
  ['watching', 'Watching'],
  ['done', 'Done'],
];

interface Props {
  tab: Tab;
  counts: Partial<Record<Tab, number>>;
  isMore: boolean;
  onTab: (tab: Tab) => void;
}

export function Tabs({ tab, counts, isMore, onTab }: Props) {
  return (
    <div role="group" aria-label="Filter tasks" className="flex gap-1">
      {TABS.map(([name, word]) => {
        const isOn = name === tab;
        const count = counts[name];
        return (
          <button
            key={name}
            type="button"
            aria-pressed={isOn}
            onClick={() => onTab(name)}
            className={classes(
              'h-8 rounded-control border px-2.5 whitespace-nowrap max-md:h-11',
              isOn
                ? 'border-line bg-surface text-ink'
                : 'border-transparent text-ink-2 hover:text-ink',
            )}
          >
            {word}
            {count !== undefined && (
              <strong className="ml-1.5 font-semibold">
                {count.toLocaleString('en')}
                {isMore && '+'}
              </strong>
            )}
          </button>
        );
      })}
    </div>
  );
}
