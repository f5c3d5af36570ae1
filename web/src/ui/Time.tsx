import { ago, due, exactTime } from '@/time/clock';
import { useNow } from '@/time/useNow';

/** Relative time; the tooltip shows the exact time. */
export function Ago({ at }: { at: string }) {
  const now = useNow(10_000);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at, now.there)}
    </time>
  );
}

export function Due({ at }: { at: string }) {
  const now = useNow(10_000);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {due(at, now.there)}
    </time>
  );
}
