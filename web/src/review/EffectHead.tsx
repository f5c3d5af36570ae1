import type { Task } from '@/api/queries';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { countsOf, operationOf } from './effect';

interface HeadProps {
  shown: Pick<Task, 'type' | 'effect' | 'resources'>;
  level: 1 | 2;
}

/** Headline of a review: the operation and its resources. The author's description never appears in
 *  it. */
export function EffectHead({ shown, level }: HeadProps) {
  const Heading = level === 1 ? 'h1' : 'h2';
  const { effect, resources } = shown;
  const { irreversible } = effect.counts;
  const { text, isType, others } = operationOf(shown);
  return (
    <div data-effect>
      <Heading
        className={classes('font-semibold wrap-anywhere', level === 1 ? 'text-h1' : 'text-title')}
      >
        {isType ? (
          <>
            Run{' '}
            <span className="font-mono text-[0.92em]">
              <Untrusted text={text} />
            </span>
          </>
        ) : (
          <Untrusted text={text} />
        )}{' '}
        <span className="font-normal text-ink-2">on</span>{' '}
        {resources.map(({ resource }, index) => (
          <span key={resource} className="font-mono text-[0.92em] wrap-anywhere">
            {index > 0 && ', '}
            <Untrusted text={resource} />
          </span>
        ))}
      </Heading>
      <p className="mt-1 text-ink-2" data-counts>
        {others > 0
          ? `and ${others} other ${others === 1 ? 'change' : 'changes'} · this task: `
          : 'This task: '}
        {countsOf(effect)}
      </p>
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
