import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { DropdownMenu } from 'radix-ui';
import { useOpenCount } from '@/changes/queries';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { classes } from '@/ui/classes';
import { Icon, type IconName } from '@/ui/Icon';
import { MENU, MENU_ITEM } from '@/ui/menu';
import { Mark } from './Mark';

interface Place {
  readonly to:
    | '/inbox'
    | '/tasks'
    | '/locks'
    | '/agents'
    | '/policies'
    | '/changes'
    | '/audit'
    | '/overview'
    | '/settings';
  readonly word: string;
  readonly icon: IconName;
}

const PLACES: readonly Place[] = [
  { to: '/inbox', word: 'Inbox', icon: 'inbox' },
  { to: '/tasks', word: 'Tasks', icon: 'tasks' },
  { to: '/locks', word: 'Locks', icon: 'lock' },
  { to: '/agents', word: 'Agents', icon: 'agent' },
  { to: '/policies', word: 'Policies', icon: 'policy' },
  { to: '/changes', word: 'Changes', icon: 'clock' },
  { to: '/audit', word: 'Audit', icon: 'audit' },
  { to: '/overview', word: 'Overview', icon: 'chart' },
  { to: '/settings', word: 'Settings', icon: 'gear' },
];

/** The pages that the reader can use. */
function usePlaces(): readonly Place[] {
  const me = useMe();
  return PLACES.filter(({ to }) => to !== '/audit' || mayRead(me, 'audit'));
}

/** Pages in the bar on a phone; the others are behind "More". */
const ON_PHONE = ['/inbox', '/tasks', '/locks', '/audit'];

/** A single task belongs to the inbox; the list of all tasks is a page of its own. */
function useIsAt(): (place: Place) => boolean {
  const { pathname } = useLocation();
  const isInbox = pathname === '/inbox' || pathname.startsWith('/tasks/');
  return ({ to }) =>
    to === '/inbox' ? isInbox : to === '/tasks' ? pathname === to : pathname.startsWith(to);
}

interface Props {
  inbox: number;
  isMore: boolean;
}

interface CountProps {
  value: number;
  isMore?: boolean;
  /** What is counted, for screen readers. */
  words: string;
}

function Count({ value, isMore = false, words }: CountProps) {
  if (value === 0) return null;
  return (
    <span className="ml-auto text-meta font-medium text-ink-2">
      {value.toLocaleString('en')}
      {isMore && '+'}
      <span className="sr-only"> {words}</span>
    </span>
  );
}

export function Nav({ inbox, isMore, onHelp }: Props & { onHelp: () => void }) {
  const isAt = useIsAt();
  const places = usePlaces();
  const changes = useOpenCount();
  return (
    <nav
      aria-label="Pages"
      className={classes(
        'flex w-[200px] shrink-0 flex-col border-r border-line bg-sunken px-3 py-4',
        'max-lg:w-[168px] max-md:hidden',
      )}
    >
      <div className="px-2 pb-5">
        <Mark />
      </div>
      <ul className="grid gap-0.5">
        {places.map((place) => {
          const { to, word, icon } = place;
          return (
            <li key={to}>
              <Link
                to={to}
                search={{}}
                className={classes(
                  'flex h-8 items-center gap-2.5 rounded-control border-l-2 px-2 hover:text-ink',
                  isAt(place)
                    ? 'border-accent bg-surface font-semibold text-ink'
                    : 'border-transparent text-ink-2',
                )}
              >
                <Icon name={icon} />
                {word}
                {to === '/inbox' && <Count value={inbox} isMore={isMore} words="waiting for you" />}
                {to === '/changes' && <Count value={changes} words="open" />}
              </Link>
            </li>
          );
        })}
      </ul>
      <button
        type="button"
        onClick={onHelp}
        className={classes(
          'mt-auto flex h-8 items-center gap-2.5 rounded-control px-2 text-meta',
          'text-ink-3 hover:text-ink',
        )}
      >
        <Icon name="key" />
        Shortcuts
        <kbd aria-hidden="true" className="ml-auto font-mono text-key">
          ?
        </kbd>
      </button>
    </nav>
  );
}

const PHONE_LOOK =
  'flex h-14 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-meta';
const HERE = 'bg-surface font-semibold text-ink shadow-[inset_0_2px_0_var(--accent)]';

/** Not modal, like the user menu. */
function MorePlaces() {
  const isAt = useIsAt();
  const navigate = useNavigate();
  const changes = useOpenCount();
  const behind = usePlaces().filter(({ to }) => !ON_PHONE.includes(to));
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        className={classes(PHONE_LOOK, behind.some(isAt) ? HERE : 'text-ink-2')}
      >
        <Icon name="more" />
        More
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="end" sideOffset={6} className={MENU}>
          {behind.map(({ to, word, icon }) => (
            <DropdownMenu.Item
              key={to}
              className={MENU_ITEM}
              onSelect={() => void navigate({ to, search: {} })}
            >
              <Icon name={icon} />
              {word}
              {to === '/changes' && <Count value={changes} words="open" />}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function PhoneNav({ inbox, isMore }: Props) {
  const isAt = useIsAt();
  const places = usePlaces();
  return (
    <nav
      aria-label="Pages"
      className={classes(
        'flex shrink-0 border-t border-line bg-sunken pb-[env(safe-area-inset-bottom)]',
        'md:hidden',
      )}
    >
      {places
        .filter(({ to }) => ON_PHONE.includes(to))
        .map((place) => (
          <Link
            key={place.to}
            to={place.to}
            search={{}}
            className={classes(PHONE_LOOK, isAt(place) ? HERE : 'text-ink-2')}
          >
            <Icon name={place.icon} />
            <span>
              {place.word}
              {place.to === '/inbox' &&
                inbox > 0 &&
                ` ${inbox.toLocaleString('en')}${isMore ? '+' : ''}`}
            </span>
          </Link>
        ))}
      <MorePlaces />
    </nav>
  );
}
