import { useState } from 'react';
import { More } from '@/list/More';
import { chunks, FOLD_LINES, PART_LINES } from '@/reading/fold';
import { Part, useFolded } from '@/reading/react';
import { classes } from '@/ui/classes';
import { Untrusted } from '@/ui/Untrusted';
import { folded, type Line, LINES_STEP, type Shown } from './diff';

const LOOK = {
  same: { row: '', sign: ' ', tone: 'text-ink-3', name: '' },
  add: { row: 'bg-add', sign: '+', tone: 'text-add-sign', name: 'added: ' },
  del: { row: 'bg-del', sign: '−', tone: 'text-del-sign', name: 'removed: ' },
} as const;

function Text({ line }: { line: Line }) {
  if (!line.words) return <Untrusted text={line.text} lines />;
  const mark = line.kind === 'add' ? 'bg-add-word' : 'bg-del-word';
  return line.words.map((word, index) => (
    <span key={index} className={classes(word.isChanged && `rounded-[2px] ${mark}`)}>
      <Untrusted text={word.text} lines />
    </span>
  ));
}

function Unified({ line }: { line: Line }) {
  const look = LOOK[line.kind];
  return (
    <div
      className={classes('grid grid-cols-[40px_20px_minmax(0,1fr)] px-2', look.row)}
      data-line={line.kind}
    >
      <span aria-hidden="true" className="pr-2 text-right text-ink-2 select-none">
        {line.new ?? line.old}
      </span>
      <span aria-hidden="true" className={classes('select-none', look.tone)}>
        {look.sign}
      </span>
      <span className="whitespace-pre-wrap wrap-anywhere">
        {look.name && <span className="sr-only">{look.name}</span>}
        <Text line={line} />
      </span>
    </div>
  );
}

type Pair = readonly [Line | undefined, Line | undefined];

/** Pairs lines for the split view: removed lines on the left, added ones on the right. */
export function pairs(lines: readonly Line[]): Pair[] {
  const rows: Pair[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at]!.kind === 'same') {
      rows.push([lines[at], lines[at]]);
      at++;
      continue;
    }
    let end = at;
    while (end < lines.length && lines[end]!.kind !== 'same') end++;
    const block = lines.slice(at, end);
    const old = block.filter(({ kind }) => kind === 'del');
    const fresh = block.filter(({ kind }) => kind === 'add');
    for (let row = 0; row < Math.max(old.length, fresh.length); row++)
      rows.push([old[row], fresh[row]]);
    at = end;
  }
  return rows;
}

function Half({ line }: { line: Line | undefined }) {
  const look = line ? LOOK[line.kind] : undefined;
  return (
    <div
      className={classes('min-w-0 px-2 whitespace-pre-wrap wrap-anywhere', look?.row)}
      data-line={line?.kind}
    >
      {look?.name && <span className="sr-only">{look.name}</span>}
      {line && <Text line={line} />}
    </div>
  );
}

function Fold({ count, onOpen }: { count: number; onOpen: () => void }) {
  useFolded(true);
  return (
    <button
      type="button"
      onClick={onOpen}
      className={classes(
        'block h-7 w-full px-2 pl-[62px] text-left text-accent underline',
        'underline-offset-2 hover:bg-line max-md:h-11',
      )}
    >
      Show {count} unchanged lines
    </button>
  );
}

interface Props {
  lines: readonly Line[];
  isSplit: boolean;
  isWhole: boolean;
  label: string;
}

type Folded = Exclude<Shown, Line>;

/** Groups consecutive lines, with folds between the groups. */
function blocksOf(shown: readonly Shown[]): (Line[] | Folded)[] {
  const blocks: (Line[] | Folded)[] = [];
  for (const line of shown) {
    const last = blocks.at(-1);
    if (line.kind === 'fold') blocks.push(line);
    else if (Array.isArray(last)) last.push(line);
    else blocks.push([line]);
  }
  return blocks;
}

/** Diff lines; signs mark additions and removals, colours repeat them. Unchanged lines are folded
 *  only in a long diff. */
export function Diff({ lines, isSplit, isWhole, label }: Props) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const isShort = lines.length <= FOLD_LINES;
  const shown = (isWhole || isShort ? lines : folded(lines)).flatMap((line): readonly Shown[] =>
    line.kind === 'fold' && open.has(line.from)
      ? lines.slice(line.from, line.from + line.count)
      : [line],
  );
  const drawn = (block: Line[] | Folded, index: number) => {
    if (!Array.isArray(block)) {
      const { from, count } = block;
      return <Fold key={index} count={count} onOpen={() => setOpen(new Set([...open, from]))} />;
    }
    if (!isSplit) {
      return chunks(block, PART_LINES).map((some, nth) => (
        <Part key={`${index}-${nth}`}>
          {some.map((line, row) => (
            <Unified key={row} line={line} />
          ))}
        </Part>
      ));
    }
    return chunks(pairs(block), PART_LINES).map((some, nth) => (
      <Part key={`${index}-${nth}`}>
        {some.map(([old, fresh], row) => (
          <div key={row} className="grid grid-cols-2 gap-px">
            <Half line={old} />
            <Half line={fresh} />
          </div>
        ))}
      </Part>
    ));
  };
  return (
    <div
      role="group"
      aria-label={label}
      className="overflow-x-auto rounded-control bg-sunken py-1 font-mono text-meta leading-[22px]"
    >
      <More items={shown} step={LINES_STEP} what="lines" className="px-3 py-2">
        {(first) => blocksOf(first).map(drawn)}
      </More>
    </div>
  );
}
