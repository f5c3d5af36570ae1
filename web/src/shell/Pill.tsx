import { useConnection, useLive } from '@/live/react';
import type { Pill as Word } from '@/live/reducer';
import { clockTime } from '@/time/clock';
import { useNow } from '@/time/useNow';
import { classes } from '@/ui/classes';

const LOOKS: Record<Word, [sign: string, tone: string]> = {
  live: ['●', 'text-good-mark'],
  reconnecting: ['◌', 'text-review'],
  polling: ['◑', 'text-medium'],
  behind: ['▲', 'text-medium'],
  offline: ['■', 'text-bad'],
  paused: ['‖', 'text-ink-2'],
};

export interface PillView {
  readonly word: Word;
  readonly heardAt?: number | undefined;
  readonly retrySeconds?: number | undefined;
  readonly lagMs?: number;
}

function sentence({ word, heardAt, retrySeconds, lagMs }: PillView): string {
  switch (word) {
    case 'live':
      return 'Live';
    case 'reconnecting':
      return retrySeconds ? `Reconnecting (${retrySeconds} s)` : 'Reconnecting';
    case 'polling':
      return 'Polling every 5 s';
    case 'behind':
      return `Behind ${Math.round((lagMs ?? 0) / 1000)} s`;
    case 'offline':
      return heardAt ? `Offline – data from ${clockTime(heardAt)}` : 'Offline';
    case 'paused':
      return 'Paused';
  }
}

/** Screen readers announce a status change, but not the seconds. */
export function PillLook(view: PillView & { onClick?: () => void }) {
  const [sign, tone] = LOOKS[view.word];
  const isQuiet = view.word === 'live' || view.word === 'paused';
  return (
    <>
      <span role="status" className="sr-only">
        {`Connection: ${view.word}`}
      </span>
      <button
        type="button"
        onClick={view.onClick}
        title={isQuiet ? 'Changes appear as they happen' : 'Reconnect now'}
        data-pill={view.word}
        className={classes(
          'flex h-7 items-center gap-2 rounded-control px-2 text-meta whitespace-nowrap',
          'text-ink-2 hover:bg-sunken max-md:h-11',
        )}
      >
        <span aria-hidden="true" className={classes('text-[13px] leading-none', tone)}>
          {sign}
        </span>
        {sentence(view)}
      </button>
    </>
  );
}

export function Pill() {
  const connection = useConnection();
  const { live, pill, retryAt } = useLive();
  const now = useNow(1000);
  const left = retryAt ? Math.ceil((retryAt - now.here) / 1000) : 0;
  return (
    <PillLook
      word={pill}
      heardAt={live.heardAt}
      retrySeconds={left > 0 ? left : undefined}
      lagMs={live.lagMs}
      onClick={connection.reconnect}
    />
  );
}
