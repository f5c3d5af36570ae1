import { lazy, Suspense, useMemo, useState } from 'react';
import type { Schemas } from '@/api/client';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Select } from '@/ui/Field';
import { linesOf } from './figures';

const Chart = lazy(() => import('./Chart'));

export const SPANS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
export type Span = (typeof SPANS)[number][0];

type Lines = ReturnType<typeof linesOf>;

function Table({ days, lines }: { days: readonly string[]; lines: Lines }) {
  return (
    <div
      className="max-h-[320px] overflow-auto"
      tabIndex={0}
      role="group"
      aria-label="Tasks per day"
    >
      <table className="w-full border-collapse text-meta">
        <thead>
          <tr className="border-b border-line text-left text-ink-3">
            {['Day', ...lines.map(({ word }) => word)].map((word) => (
              <th key={word} scope="col" className="py-1.5 pr-4 font-normal">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map((day, index) => (
            <tr key={day} className="border-b border-line">
              <th scope="row" className="py-1.5 pr-4 text-left font-mono font-normal">
                {day}
              </th>
              {lines.map(({ state, values }) => (
                <td key={state} className="py-1.5 pr-4">
                  {values[index]?.toLocaleString('en')}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Legend({ lines }: { lines: Lines }) {
  return (
    <ul aria-hidden="true" className="flex flex-wrap gap-x-4 gap-y-1 pt-2 text-meta text-ink-2">
      {lines.map(({ state, word, colour, dash }) => (
        <li key={state} className="flex items-center gap-1.5">
          <svg width="28" height="4" viewBox="0 0 28 4">
            <line
              x2="28"
              y1="2"
              y2="2"
              stroke={`var(${colour})`}
              strokeWidth="2"
              strokeDasharray={dash.join(' ')}
            />
          </svg>
          {word}
        </li>
      ))}
    </ul>
  );
}

interface Props {
  overview: Schemas['Overview'];
  span: Span;
  onSpan: (span: Span) => void;
}

/** Task outcomes per day, as a chart or as a table. */
export function DaysCard({ overview, span, onSpan }: Props) {
  const [isTable, setTable] = useState(false);
  const lines = useMemo(() => linesOf(overview), [overview]);
  const days = useMemo(() => overview.days.map(({ day }) => day), [overview]);
  return (
    <Card
      title="Tasks per day"
      aside={
        <span className="flex gap-2">
          <Select aria-label="Time range" value={span} choices={SPANS} onChange={onSpan} />
          <Button aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            Table
          </Button>
        </span>
      }
    >
      {isTable ? (
        <Table days={days} lines={lines} />
      ) : (
        <>
          <Suspense fallback={<div className="h-[220px]" />}>
            <Chart days={days} lines={lines} />
          </Suspense>
          <Legend lines={lines} />
        </>
      )}
      <p className="pt-2 text-meta text-ink-3">Days are counted in UTC.</p>
    </Card>
  );
}
