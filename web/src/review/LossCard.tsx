import type { Effect } from '@/api/queries';
import { Card } from '@/ui/Card';
import { Untrusted } from '@/ui/Untrusted';
import { factsOf, gravest, SIGN } from './effect';

/** Losses listed here; all of them are among the changes below. */
const LISTED = 6;

/** What is removed or cannot be undone, with the rows, size and dependents that the effect
 *  states. */
export function LossCard({ effect }: { effect: Effect }) {
  const lost = gravest(effect.changes).filter(
    ({ action, irreversible }) => action === 'remove' || irreversible,
  );
  const isMeasured = lost.some((change) => factsOf(change).length > 0);
  const by = effect.origin === 'observed' ? 'The preview' : 'The author';
  return (
    <Card title="What would be lost" className="max-lg:order-2">
      {lost.length === 0 ? (
        <p className="text-ink-2">{by} names nothing that is removed or cannot be undone.</p>
      ) : (
        <>
          <ul className="space-y-1">
            {lost.slice(0, LISTED).map((change, index) => (
              <li key={index} className="wrap-anywhere" data-loss>
                <span aria-hidden="true" className="font-mono font-semibold text-del-sign">
                  {SIGN[change.action]}{' '}
                </span>
                <span className="sr-only">{change.action}: </span>
                <Untrusted text={change.summary} />
                {factsOf(change).length > 0 && (
                  <strong className="font-semibold"> · {factsOf(change).join(' · ')}</strong>
                )}
                {change.irreversible && (
                  <span className="text-meta font-medium text-high"> ▲ cannot be undone</span>
                )}
              </li>
            ))}
          </ul>
          {lost.length > LISTED && (
            <p className="pt-1 text-meta text-ink-3">
              and {lost.length - LISTED} more, listed below
            </p>
          )}
          {!isMeasured && (
            <p className="pt-1.5 text-meta text-ink-2">
              The effect states no rows, size or dependents.
            </p>
          )}
        </>
      )}
    </Card>
  );
}
