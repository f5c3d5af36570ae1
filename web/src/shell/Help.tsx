import { useKnownActions, useSingleKeys } from '@/keys/react';
import type { Group } from '@/keys/registry';
import { Dialog } from '@/ui/Dialog';
import { classes } from '@/ui/classes';
import { spellKeys } from '@/ui/Kbd';

/** The embedded fonts; their licence requires that its text is shipped with them. */
const FONTS = [
  { name: 'IBM Plex Sans', licence: '/licenses/ibm-plex-sans.txt' },
  { name: 'IBM Plex Mono', licence: '/licenses/ibm-plex-mono.txt' },
] as const;
const GROUPS: readonly Group[] = ['List', 'Review', 'Anywhere'];

/** Generated from the registered actions, so that the list is always complete. */
export function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const actions = useKnownActions();
  const [areSinglesOn, setSingles] = useSingleKeys();
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Keyboard shortcuts"
      size="wide"
      says="Shortcuts available on this page."
    >
      <div className="grid gap-x-10 gap-y-5 overflow-y-auto p-5 md:grid-cols-2">
        {GROUPS.map((group) => {
          const own = actions.filter((action) => action.group === group && action.keys.length > 0);
          if (own.length === 0) return null;
          return (
            <section key={group}>
              <h3 className="pb-1 text-meta font-semibold text-ink-3">{group}</h3>
              <dl>
                {own.map((action) => (
                  <div
                    key={action.id}
                    className={classes(
                      'flex items-baseline justify-between gap-4 border-t border-line py-1.5',
                    )}
                  >
                    <dt>{action.title}</dt>
                    <dd className="flex shrink-0 gap-2 font-mono text-meta text-ink-2">
                      {action.keys.map((press) => (
                        <kbd key={press}>{spellKeys(press).join(' ')}</kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
      <label className="flex cursor-pointer items-center gap-2.5 border-t border-line px-5 py-3">
        <input
          type="checkbox"
          checked={areSinglesOn}
          onChange={(event) => setSingles(event.target.checked)}
          className="size-4 accent-accent"
        />
        Single-key shortcuts
      </label>
      <p className="border-t border-line px-5 py-3 text-meta text-ink-3">
        Font licences:
        {FONTS.map(({ name, licence }) => (
          <a
            key={name}
            href={licence}
            target="_blank"
            rel="noreferrer"
            className="ml-3 underline hover:text-ink"
          >
            {name}
          </a>
        ))}
      </p>
    </Dialog>
  );
}
