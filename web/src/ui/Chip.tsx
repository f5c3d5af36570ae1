import type { ReactNode } from 'react';
import { classes } from './classes';

export type ChipTone = 'plain' | 'quiet' | 'review' | 'good' | 'busy' | 'bad' | 'accent' | 'warn';

const TONES: Record<ChipTone, string> = {
  plain: 'border-line text-ink-2',
  quiet: 'border-line-strong text-quiet',
  review: 'border-review-mark text-review',
  good: 'border-good-mark text-good',
  busy: 'border-busy-mark text-busy',
  bad: 'border-bad-mark text-bad',
  warn: 'border-high-mark text-high',
  accent: 'border-accent bg-accent text-on-accent',
};

interface Props {
  tone?: ChipTone;
  sign?: string;
  /** Machine-readable value, for tests and styles. */
  value?: string;
  children: ReactNode;
}

/** Outlined label with a sign and a word; the colour only repeats their meaning. */
export function Chip({ tone = 'plain', sign, value, children }: Props) {
  return (
    <span
      data-chip={value}
      className={classes(
        'inline-flex h-6 shrink-0 items-center gap-1.5 rounded-chip border px-2',
        'text-meta font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {sign && <span aria-hidden="true">{sign}</span>}
      {children}
    </span>
  );
}
