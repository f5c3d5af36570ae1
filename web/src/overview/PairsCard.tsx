import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, type Schemas, taken } from '@/api/client';
import { useNames } from '@/api/names';
import { useMe } from '@/session/session';
import { Card, CardWait } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { Named } from '@/ui/Named';
import { agreed } from './figures';

const SHOWN = 5;
/** Who may read the audit may see who agrees with whom. */
const READERS = ['admin', 'auditor'];

const pairsQuery = () =>
  queryOptions({
    queryKey: ['stats', 'pairs'],
    queryFn: () => taken(api.GET('/v1/stats/pairs')),
    refetchInterval: 300_000,
  });

type NameOf = (id: string) => string;

function PairRow({ pair, nameOf }: { pair: Schemas['Pair']; nameOf: NameOf }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-2" data-pair>
      <span className="min-w-0 flex-1">
        <Named text={nameOf(pair.reviewer)} /> <span className="text-ink-2">agreed to</span>{' '}
        <Named text={nameOf(pair.author)} />
      </span>
      {pair.stands_out && (
        <Chip tone="warn" sign="▲">
          nearly always
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
    <Card title="Who agrees with whom">
      {!data ? (
        <CardWait error={error} />
      ) : (
        <>
          <p className="text-meta text-ink-2">
            Of the answers of these days {agreed(overview)} were yes. Of the last {data.days} days
            {data.is_more ? ', as far as counted' : ''}:
          </p>
          {data.pairs.length === 0 ? (
            <p className="text-ink-2">Nobody has agreed to anything.</p>
          ) : (
            <ul className="divide-y divide-line">
              {data.pairs.slice(0, SHOWN).map((pair) => (
                <PairRow key={`${pair.author} ${pair.reviewer}`} pair={pair} nameOf={nameOf} />
              ))}
            </ul>
          )}
        </>
      )}
    </Card>
  );
}

/** Nothing for whoever may not know. */
export function PairsCard({ overview }: { overview: Schemas['Overview'] }) {
  const { roles } = useMe();
  return READERS.some((role) => roles.includes(role)) ? <Pairs overview={overview} /> : null;
}
