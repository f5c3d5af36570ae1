// Position of a time span within the coming days. Pure.

export const DAYS = 28;
const DAY_MS = 86_400_000;

export interface Span {
  /** Position as a fraction of the whole, from 0 to 1. */
  readonly from: number;
  readonly to: number;
}

/** Start of the current day in the reader's time zone. */
export function dawn(now: number): number {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}

/** Returns the visible part of a span, if any. */
export function spanOf(startsAt: string, endsAt: string, now: number): Span | undefined {
  const part = (at: string) => (Date.parse(at) - dawn(now)) / (DAYS * DAY_MS);
  const from = Math.max(0, part(startsAt));
  const to = Math.min(1, part(endsAt));
  return to > from ? { from, to } : undefined;
}

export interface Day {
  readonly key: string;
  readonly number: number;
  readonly isRest: boolean;
}

export function daysFrom(now: number): Day[] {
  return Array.from({ length: DAYS }, (_, nth) => {
    const day = new Date(dawn(now));
    // Not by hours, because some days have 23.
    day.setDate(day.getDate() + nth);
    return {
      key: `${day.getMonth()}-${day.getDate()}`,
      number: day.getDate(),
      isRest: [0, 6].includes(day.getDay()),
    };
  });
}
