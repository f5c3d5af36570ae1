import type { Row } from '@/inbox/rows';
import { SELECTED_MAX } from '@/inbox/useSelection';
import { useWriteBar } from '@/live/react';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';

interface Props {
  rows: readonly Row[];
  total: number;
  onBatch: (action: 'approve' | 'reject') => void;
  onAll: () => void;
  onClear: () => void;
}

export function BatchBar({ rows, total, onBatch, onAll, onClear }: Props) {
  const bar = useWriteBar();
  const critical = rows.filter(({ level }) => level === 'critical').length;
  const most = Math.min(total, SELECTED_MAX);
  return (
    <div
      role="region"
      aria-label="Selected"
      className={classes(
        'absolute inset-x-5 bottom-4 z-20 flex flex-wrap items-center gap-x-3 gap-y-2',
        'rounded-card border border-line-strong bg-surface px-4 py-2.5',
        'max-md:inset-x-3',
      )}
    >
      <span className="flex-1">
        <strong className="font-semibold">{rows.length} selected</strong>
        {critical > 0 && (
          <span className="text-ink-2"> · {critical} critical, review one by one</span>
        )}
      </span>
      {rows.length < most && (
        <Button size="small" tone="quiet" onClick={onAll}>
          Select {most === total ? `all ${total}` : `the first ${most}`}
        </Button>
      )}
      <Button size="small" tone="quiet" onClick={onClear}>
        Clear
      </Button>
      <Button size="small" tone="danger" disabledReason={bar} onClick={() => onBatch('reject')}>
        Reject…
      </Button>
      <Button size="small" tone="primary" disabledReason={bar} onClick={() => onBatch('approve')}>
        Approve…
      </Button>
    </div>
  );
}
