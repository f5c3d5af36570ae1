import type { Level } from '@/api/queries';
import { classes } from './classes';

const WORDS: Record<Level, string> = {
  low: 'Low',
  medium: 'Medium',
  high: 'High',
  critical: 'Critical',
};
const BARS: Record<Level, number> = { low: 1, medium: 2, high: 3, critical: 4 };
const TEXT: Record<Level, string> = {
  low: 'text-low',
  medium: 'text-medium',
  high: 'text-high',
  critical: 'text-critical',
};
const MARK: Record<Level, string> = {
  low: 'fill-low-mark',
  medium: 'fill-medium-mark',
  high: 'fill-high-mark',
  critical: 'fill-critical-mark',
};

const HEIGHTS = [4, 6.5, 9, 12];

export function RiskBars({ level }: { level: Level }) {
  return (
    <svg viewBox="0 0 23 12" width="23" height="12" aria-hidden="true" className="shrink-0">
      {[0, 1, 2, 3].map((bar) => {
        const height = HEIGHTS[bar]!;
        const isOn = bar < BARS[level];
        return (
          <rect
            key={bar}
            x={bar * 6 + (isOn ? 0 : 0.5)}
            y={12 - height + (isOn ? 0 : 0.5)}
            width={isOn ? 4.5 : 3.5}
            height={isOn ? height : height - 1}
            className={isOn ? MARK[level] : 'fill-transparent stroke-line-strong'}
          />
        );
      })}
    </svg>
  );
}

/** Risk as bars, number and word, so that no reader depends on the colour. */
export function Risk({ level, score, isWide }: { level: Level; score: number; isWide?: boolean }) {
  return (
    <span className={classes('inline-flex items-center gap-2 font-medium', TEXT[level])}>
      <RiskBars level={level} />
      <span data-score className={classes('font-semibold', !isWide && 'w-6 text-right')}>
        {score}
      </span>
      <span>{WORDS[level]}</span>
    </span>
  );
}
