import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '@/theme/theme';
import type { Line } from './figures';

const HEIGHT = 220;

/** Chart, hidden from screen readers; the table beside it has the same numbers. */
export default function Chart({
  days,
  lines,
}: {
  days: readonly string[];
  lines: readonly Line[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const target = box.current;
    if (!target) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--ink-3'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
      font: `12px ${style.getPropertyValue('font-family')}`,
    };
    const drawing = new uPlot(
      {
        width: target.clientWidth,
        height: HEIGHT,
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, Math.max(4, max)] } },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 28,
            incrs: [1, 2, 7, 14, 30],
            values: (_u, marks) => marks.map((mark) => days[mark]?.slice(5) ?? ''),
          },
          { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 500, 1000, 5000, 10_000] },
        ],
        series: [
          {},
          ...lines.map((line) => ({
            stroke: colour(line.colour),
            width: 2,
            dash: [...line.dash],
            points: { size: 5 },
          })),
        ],
      },
      [days.map((_day, index) => index), ...lines.map(({ values }) => [...values])],
      target,
    );
    const watch = new ResizeObserver(() =>
      drawing.setSize({ width: target.clientWidth, height: HEIGHT }),
    );
    watch.observe(target);
    return () => {
      watch.disconnect();
      drawing.destroy();
    };
  }, [days, lines, theme]);
  return <div ref={box} aria-hidden="true" data-chart className="h-[220px] min-w-0" />;
}
