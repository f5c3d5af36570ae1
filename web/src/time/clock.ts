// Times are told by the server's clock: a wrong clock on a desk must not make a request look old.
let offset = 0;

/** From the `Date` of an answer, which is cut to the second. */
export function noteServerTime(date: string | null, here = Date.now()): void {
  const told = date ? Date.parse(date) : NaN;
  if (Number.isNaN(told)) return;
  const early = told - here;
  const late = early + 1000;
  // As long as both clocks can agree within the second, they do.
  offset = early > 0 ? early : late < 0 ? late : 0;
}

export function serverNow(here = Date.now()): number {
  return here + offset;
}

const STEPS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
];

/** `4m`, `2h`, `3d`; below a minute in steps of ten seconds, so that a page stays quiet. */
export function span(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(Math.abs(milliseconds) / 1000));
  for (const [length, unit] of STEPS) {
    if (seconds >= length) return `${Math.floor(seconds / length)}${unit}`;
  }
  return seconds < 10 ? 'now' : `${Math.floor(seconds / 10) * 10}s`;
}

export function ago(at: string, now: number): string {
  const past = span(now - Date.parse(at));
  return past === 'now' ? 'just now' : `${past} ago`;
}

export function due(at: string, now: number): string {
  const left = Date.parse(at) - now;
  if (left < 0) return span(left) === 'now' ? 'overdue' : `${span(left)} over`;
  return span(left) === 'now' ? 'now' : span(left);
}

const two = (value: number) => String(value).padStart(2, '0');

/** `14:02:11`, as the clock on the wall shows it. */
export function clockTime(at: string | number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The whole of it, for a tooltip: here, and in UTC. */
export function exactTime(at: string): string {
  const date = new Date(at);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${clockTime(at)} ${zone} · ${at}`;
}
