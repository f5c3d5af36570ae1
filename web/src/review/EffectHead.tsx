import type { Effect, Task } from '@/api/queries';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { gravest, headline, SIGN } from './effect';

interface HeadProps {
  effect: Effect;
  resources: Task['resources'];
  level: 1 | 2;
}

/** Headline of a review. It consists of counts and resource names only; text by the author never
 *  appears in it. */
export function EffectHead({ effect, resources, level }: HeadProps) {
  const Heading = level === 1 ? 'h1' : 'h2';
  const { irreversible } = effect.counts;
  return (
    <div data-effect>
      <Heading className={classes('font-semibold', level === 1 ? 'text-h1' : 'text-title')}>
        {headline(effect)} <span className="font-normal text-ink-2">on</span>{' '}
        {resources.map(({ resource }, index) => (
          <span key={resource} className="font-mono text-[0.92em] wrap-anywhere">
            {index > 0 && ', '}
            <Untrusted text={resource} />
          </span>
        ))}
      </Heading>
      <div className="mt-2 flex flex-wrap gap-2">
        {irreversible > 0 && (
          <Chip tone="warn" sign="▲">
            {irreversible} cannot be undone
          </Chip>
        )}
        {effect.errors.length > 0 ? (
          <Chip tone="bad" sign="✕">
            Preview failed
          </Chip>
        ) : effect.origin === 'observed' ? (
          <Chip sign="◉">Verified by preview</Chip>
        ) : (
          <Chip tone="warn" sign="◌">
            Declared, not proven by a preview
          </Chip>
        )}
      </div>
    </div>
  );
}

const TONES = { remove: 'text-del-sign', change: 'text-ink-2', add: 'text-add-sign' } as const;

/** The most severe changes, one line each. */
export function ChangeLines({ effect, max }: { effect: Effect; max: number }) {
  const changes = gravest(effect.changes);
  const hidden = changes.length - max;
  return (
    <ul className="space-y-1 font-mono text-meta">
      {changes.slice(0, max).map((change, index) => (
        <li key={index} className="flex gap-2">
          <span
            aria-hidden="true"
            className={classes('w-2 shrink-0 font-semibold', TONES[change.action])}
          >
            {SIGN[change.action]}
          </span>
          <span className="sr-only">{change.action}: </span>
          <span className="min-w-0 wrap-anywhere">
            <Untrusted text={change.summary} />
            {change.irreversible && (
              <span className="ml-2 font-sans font-medium text-high">cannot be undone</span>
            )}
          </span>
        </li>
      ))}
      {hidden > 0 && <li className="pl-4 font-sans text-ink-3">and {hidden} more</li>}
    </ul>
  );
}
