import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  memo,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useRef,
} from 'react';
import { classes } from '@/ui/classes';
import { useIsPhone } from '@/ui/useIsPhone';

/** Rows rendered beyond the visible ones; together they stay well below sixty. */
const OVERSCAN = 6;
const HEADER = 32;

interface Column {
  readonly word: string;
  readonly className: string;
}

/** Identity of a row across updates. */
export interface Keyed {
  readonly key: string;
}

interface Props<Row extends Keyed> {
  rows: readonly Row[];
  cursor: number;
  onCursor: (index: number) => void;
  onOpen: (row: Row) => void;
  label: string;
  columns: readonly Column[];
  template: string;
  selected?: ReadonlySet<string>;
  gone?: ReadonlySet<string>;
  /** Whether the server has more rows than these. */
  isPartial?: boolean;
  /** Called when the last rows become visible, to load more. */
  onEnd?: () => void;
  /** Must be a stable function; otherwise every key press renders every row. */
  children: (row: Row) => ReactNode;
}

interface RowProps<Row> {
  row: Row;
  id: string;
  index: number;
  start: number;
  height: number;
  template: string;
  isCursor: boolean;
  isSelected: boolean | undefined;
  isGone: boolean;
  children: (row: Row) => ReactNode;
}

function DrawnRow<Row>(props: RowProps<Row>) {
  const { row, id, index, start, height, template, isCursor, isSelected, isGone, children } = props;
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-index={index}
      data-cursor={isCursor || undefined}
      data-gone={isGone || undefined}
      style={{ transform: `translateY(${start}px)`, height }}
      className={classes(
        'absolute inset-x-0 top-0 grid cursor-default items-center gap-4 border-b',
        'border-line px-5 max-md:px-4',
        template,
        isCursor && 'bg-surface shadow-[inset_3px_0_0_var(--accent)]',
        isSelected && 'bg-accent-soft!',
      )}
    >
      {children(row)}
    </div>
  );
}

const OneRow = memo(DrawnRow) as typeof DrawnRow;

/** Virtualized table of any length: only visible rows are in the DOM. The keyboard moves a cursor,
 *  and the table keeps the focus. */
export function List<Row extends Keyed>(props: Props<Row>) {
  const { rows, cursor, onCursor, onOpen, label, columns, template, selected, gone, children } =
    props;
  const isPhone = useIsPhone();
  const height = isPhone ? 84 : 52;
  const header = isPhone ? 0 : HEADER;
  const box = useRef<HTMLDivElement>(null);
  const name = useId();
  const rangeExtractor = useCallback(
    (range: Range) => {
      const shown = defaultRangeExtractor(range);
      if (cursor < 0 || cursor >= rows.length || shown.includes(cursor)) return shown;
      return [...shown, cursor].sort((one, other) => one - other);
    },
    [cursor, rows.length],
  );
  // A new function would remeasure every row on every key press.
  const getItemKey = useCallback((index: number) => rows[index]?.key ?? index, [rows]);
  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are used at once
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
    // The sticky header covers part of the rows.
    scrollMargin: header,
    scrollPaddingStart: header,
    getItemKey,
    rangeExtractor,
  });
  const { scrollToIndex } = virtual;
  useEffect(() => virtual.measure(), [virtual, height]);
  useEffect(() => {
    if (cursor >= 0) scrollToIndex(cursor, { align: 'auto' });
  }, [cursor, scrollToIndex]);
  const { onEnd } = props;
  const last = virtual.getVirtualItems().at(-1)?.index ?? -1;
  const isAtEnd = last >= rows.length - 1 && rows.length > 0;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd, rows.length]);
  const idOf = (index: number) => `${name}-${rows[index]?.key ?? index}`;
  const indexOf = (event: MouseEvent): number => {
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    return Number(row?.getAttribute('data-index') ?? -1);
  };
  const open = (index: number) => {
    const row = rows[index];
    if (row) onOpen(row);
  };
  return (
    <div
      ref={box}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={props.isPartial ? -1 : rows.length + 1}
      aria-multiselectable={selected ? true : undefined}
      aria-activedescendant={rows[cursor] ? idOf(cursor) : undefined}
      onClick={(event) => {
        const index = indexOf(event);
        if (index >= 0) (isPhone ? open : onCursor)(index);
      }}
      onDoubleClick={(event) => open(indexOf(event))}
      className="min-h-0 flex-1 overflow-y-auto -outline-offset-2!"
    >
      <div
        role="row"
        aria-rowindex={1}
        className={classes(
          'sticky top-0 z-10 grid h-8 items-center gap-4 border-b border-line bg-canvas',
          'px-5 text-meta text-ink-3 max-md:sr-only',
          template,
        )}
      >
        {columns.map(({ word, className }) => (
          <span key={word} role="columnheader" className={className}>
            {word}
          </span>
        ))}
      </div>
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <OneRow
              key={row.key}
              row={row}
              id={idOf(index)}
              index={index}
              start={start - header}
              height={height}
              template={template}
              isCursor={index === cursor}
              isSelected={selected?.has(row.key)}
              isGone={gone?.has(row.key) ?? false}
            >
              {children}
            </OneRow>
          );
        })}
      </div>
    </div>
  );
}
