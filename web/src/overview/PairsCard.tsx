import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '@/api/client';
import { useNames } from '@/api/names';
import { mayRead } from '@/session/access';
import { useMe } from '@/session/session';
import { Card, CardWait } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { Named } from '@/ui/Named';
import { agreed } from './figures';

const SHOWN = 5;

const pairsQuery = () =>
  queryOptions({
    queryKey: ['stats', 'pairs'],
    queryFn: () => unwrap(api.GET('/v1/stats/pairs')),
    refetchInterval: 300_000,
  });

type NameOf = (id: string) => string;

function PairRow({ pair, nameOf }: { pair: Schemas['Pair']; nameOf: NameOf }) {
  const by = <span className="text-ink-2">approved tasks by</span>;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-2" data-pair>
      <span className="min-w-0 flex-1">
        <Named text={nameOf(pair.reviewer_id)} /> {by} <Named text={nameOf(pair.author_id)} />
      </span>
      {pair.stands_out && (
        <Chip tone="warn" sign="▲">
          almost always
        </Chip>
      )}
      <span className="text-meta text-ink-2">
        {pair.approvals} of {pair.of}
      </span>
    </li>
  );
}

function Pairs({ overview }: { overview: Schemas['Overview'] }) {
  const { data, error } = useQuery(pairsQuery());
  const nameOf = useNames();
  return (
    <Card title="Review independence">
      {!data ? (
        <CardWait error={error} />
      ) : (
        <>
          <p className="text-meta text-ink-2">
            {agreed(overview)} of votes in the selected range were approvals. Most frequent pairs of
            reviewer and author in the last {data.days} days{data.is_more ? ' (partial count)' : ''}
            :
          </p>
          {data.pairs.length === 0 ? (
            <p className="text-ink-2">No approvals yet.</p>
          ) : (
            <ul className="divide-y divide-line">
              {data.pairs.slice(0, SHOWN).map((pair) => (
                <PairRow
                  key={`${pair.author_id} ${pair.reviewer_id}`}
                  pair={pair}
                  nameOf={nameOf}
                />
              ))}
            </ul>
          )}
        </>
      )}
    </Card>
  );
}

/** Renders nothing for readers without access to the audit log. */
export function PairsCard({ overview }: { overview: Schemas['Overview'] }) {
  // These figures are derived from the audit log, so the same people can read them.
  return mayRead(useMe(), 'audit') ? <Pairs overview={overview} /> : null;
}
