// Times follow the server's clock: a wrong local clock must not make a request look old.
let offset = 0;

/** Updates the clock offset from a `Date` header, which is truncated to the second. */
export function noteServerTime(date: string | null, here = Date.now()): void {
  const server = date ? Date.parse(date) : NaN;
  if (Number.isNaN(server)) return;
  const early = server - here;
  const late = early + 1000;
  // While the clocks can agree within the second, the offset stays zero.
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

/** Formats `4m`, `2h`, `3d`; below a minute in steps of ten seconds, to avoid constant updates. */
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

/** Formats a local time such as `14:02:11`. */
export function clockTime(at: string | number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Formats a local time such as `2026-11-14 14:02`. */
export function dayTime(at: string): string {
  return `${new Date(at).toLocaleDateString('sv')} ${clockTime(at).slice(0, 5)}`;
}

/** Formats the full local and UTC time, for a tooltip. */
export function exactTime(at: string): string {
  const date = new Date(at);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${clockTime(at)} ${zone} · ${at}`;
}
