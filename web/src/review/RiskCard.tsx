import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { riskQuery, type Task } from '@/api/queries';
import { CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Risk } from '@/ui/Risk';
import { useIsPhone } from '@/ui/useIsPhone';

type Factor = Schemas['Factor'];

const NAMES: Record<string, string> = {
  resource_criticality: 'Resource criticality',
  change_magnitude: 'Change magnitude',
  blast_radius: 'Blast radius',
  historical_failure_rate: 'Historical failure rate',
};

/** Contribution to the score in points: `360000` is 36. */
const points = (factor: Factor) => factor.contribution_bp / 10_000;

function nameOf(factor: Factor): string {
  return NAMES[factor.name] ?? factor.name.replaceAll('_', ' ');
}

function written(value: number): string {
  return `+${Number.isInteger(value) ? value : value.toFixed(1)}`;
}

function Bar({ score }: { score: number }) {
  return (
    <span
      aria-hidden="true"
      className={classes(
        'block h-2 w-20 shrink-0 overflow-hidden rounded-full border border-ink-3',
        'max-md:w-14',
      )}
    >
      <span className="block h-full bg-ink-2" style={{ width: `${score}%` }} />
    </span>
  );
}

function Row({ factor, isPhone }: { factor: Factor; isPhone: boolean }) {
  return (
    <tr className="border-t border-line align-top">
      <th scope="row" className="py-1.5 pr-4 text-left font-normal md:whitespace-nowrap">
        {nameOf(factor)}
        {isPhone && <span className="block text-meta text-ink-3">{factor.sentence}</span>}
      </th>
      {!isPhone && (
        <td className="py-1.5 pr-4 whitespace-nowrap text-ink-2">{factor.weight_bp / 100} %</td>
      )}
      <td className="py-1.5 pr-4">
        <span className="flex items-center gap-2">
          <Bar score={factor.score} />
          {factor.score}
        </span>
      </td>
      <td className="py-1.5 pr-4">{written(points(factor))}</td>
      {!isPhone && <td className="w-full py-1.5 text-meta text-ink-2">{factor.sentence}</td>}
    </tr>
  );
}

export function RiskTable({ factors }: { factors: readonly Factor[] }) {
  const isPhone = useIsPhone();
  const [isWhole, setWhole] = useState(false);
  const ordered = [...factors].sort((one, other) => points(other) - points(one));
  const shown = isPhone && !isWhole ? ordered.slice(0, 1) : ordered;
  return (
    <>
      <table className="w-full border-collapse" data-factors={factors.length}>
        <thead>
          <tr className="text-left text-meta text-ink-3">
            <th scope="col" className="pb-1.5 font-normal">
              Factor
            </th>
            {!isPhone && (
              <th scope="col" className="pb-1.5 font-normal">
                Weight
              </th>
            )}
            <th scope="col" className="pb-1.5 font-normal">
              Score
            </th>
            <th scope="col" className="pb-1.5 font-normal">
              Points
            </th>
            {!isPhone && (
              <th scope="col" className="pb-1.5 font-normal">
                Reason
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((factor) => (
            <Row key={factor.name} factor={factor} isPhone={isPhone} />
          ))}
        </tbody>
      </table>
      {isPhone && (
        <button
          type="button"
          onClick={() => setWhole(!isWhole)}
          className="mt-1 h-11 text-accent underline underline-offset-2"
        >
          {isWhole ? 'Largest factor only' : `All ${factors.length} factors`}
        </button>
      )}
    </>
  );
}

/** The level on one line with the largest factor; it opens to all factors. */
export function RiskCard({ task, shown }: { task: Task; shown: Task }) {
  const { data, error } = useQuery(riskQuery(task.id));
  const [isOpen, setOpen] = useState(false);
  const top = [...(data?.factors ?? [])].sort((one, other) => points(other) - points(one))[0];
  return (
    <section aria-label="Risk" className="card min-w-0 px-4 py-2.5 max-lg:order-5" data-risk>
      {data ? (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="flex min-h-7 cursor-pointer flex-wrap items-center gap-x-3">
            <h2 className="font-semibold">Risk</h2>
            <Risk level={shown.risk.level} score={shown.risk.score} isWide />
            {top && (
              <span className="min-w-0 flex-1 wrap-anywhere text-meta text-ink-2">
                mostly {nameOf(top).toLowerCase()}: {top.sentence}
              </span>
            )}
            <span className="text-meta text-accent underline underline-offset-2">
              all {data.factors.length} factors
            </span>
          </summary>
          {isOpen && (
            <div className="pt-2">
              <RiskTable factors={data.factors} />
            </div>
          )}
        </details>
      ) : (
        <CardWait error={error} room="h-7" />
      )}
      {data && data.revision !== shown.revision && (
        <p className="mt-2 text-meta text-medium">
          These factors are from revision {data.revision}.
        </p>
      )}
    </section>
  );
}
