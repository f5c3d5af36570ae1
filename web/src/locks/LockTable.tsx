import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useActions } from '@/keys/react';
import { List } from '@/list/List';
import { Empty } from '@/list/Strips';
import { Skeleton } from '@/list/Skeleton';
import { moves, useCursor } from '@/list/useCursor';
import { classes } from '@/ui/classes';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { Holder, type NameOf, TimeLeft } from './LeaseLine';
import { locksQuery } from './queries';
import { byWaits, type LockRow, rowsOf } from './rows';

const COLUMNS = [
  { word: 'Resource', className: '' },
  { word: 'Held by', className: '' },
  { word: 'Mode', className: '' },
  { word: 'Expires', className: '' },
  { word: 'Waiting', className: 'text-right' },
] as const;
const TEMPLATE = classes(
  'grid-cols-[minmax(0,3fr)_minmax(0,2fr)_88px_136px_64px]',
  'max-md:grid-cols-[minmax(0,1fr)_auto] max-md:gap-y-0 max-md:content-center',
);

interface CellProps {
  row: LockRow;
  nameOf: NameOf;
  onOpen: (resource: string) => void;
}

function Cells({ row, nameOf, onOpen }: CellProps) {
  const { lock, first } = row;
  return (
    <>
      <span role="gridcell" data-lock={row.key} className="min-w-0 truncate max-md:col-span-2">
        <button
          type="button"
          onClick={() => onOpen(row.key)}
          className={classes(
            'min-h-6 max-w-full truncate text-left font-mono text-meta text-accent underline',
            'underline-offset-2',
          )}
        >
          <Untrusted text={row.key} />
        </button>
      </span>
      <span role="gridcell" className="min-w-0 truncate">
        {first ? (
          <Holder lease={first} nameOf={nameOf} />
        ) : (
          <span className="text-ink-3">free</span>
        )}
        {lock.holding > 1 && (
          <span className="text-meta text-ink-3"> and {lock.holding - 1} more</span>
        )}
      </span>
      <span role="gridcell" className="text-ink-2 max-md:text-right">
        {first?.mode ?? '–'}
      </span>
      <span role="gridcell">{first ? <TimeLeft lease={first} /> : '–'}</span>
      <span role="gridcell" className="text-right">
        {lock.waiting}
        <span className="text-ink-2 md:hidden"> waiting</span>
      </span>
    </>
  );
}

interface Props {
  filter: string;
  nameOf: NameOf;
  onOpen: (resource: string) => void;
}

export function LockTable({ filter, nameOf, onOpen }: Props) {
  const { data, error, refetch } = useQuery(locksQuery());
  const word = filter.trim().toLowerCase();
  const all = useMemo(() => rowsOf(data?.items ?? []).sort(byWaits), [data]);
  const rows = useMemo(
    () => all.filter(({ key }) => key.toLowerCase().includes(word)),
    [all, word],
  );
  const cursor = useCursor(rows);
  const open = useCallback(({ key }: LockRow) => onOpen(key), [onOpen]);
  useActions(moves(rows, cursor, open));
  const drawn = useCallback(
    (row: LockRow) => <Cells row={row} nameOf={nameOf} onOpen={onOpen} />,
    [nameOf, onOpen],
  );
  if (!data) return error ? <Trouble error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  if (rows.length === 0) {
    return (
      <Empty title={word ? 'No matching locks' : 'No locks held'}>
        {word
          ? 'No locked resource matches the filter.'
          : 'Locks appear here while an agent or a person holds them.'}
      </Empty>
    );
  }
  return (
    <>
      {data.isCut && (
        <p className="px-5 pb-2 text-meta text-medium max-md:px-4">
          Only the first {data.items.length.toLocaleString('en')} are shown.
        </p>
      )}
      <List
        rows={rows}
        cursor={cursor.index}
        onCursor={cursor.move}
        onOpen={open}
        label="All locks"
        columns={COLUMNS}
        template={TEMPLATE}
        isPartial={data.isCut}
      >
        {drawn}
      </List>
    </>
  );
}
