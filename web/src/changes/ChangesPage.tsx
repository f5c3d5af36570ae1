import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useNames } from '@/api/names';
import { Empty } from '@/list/Strips';
import { SetupNote } from '@/shell/SetupNote';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { CardWait } from '@/ui/Card';
import { Named } from '@/ui/Named';
import { Page } from '@/ui/Page';
import { Refusal } from '@/ui/Refusal';
import { Ago } from '@/ui/Time';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { ChangeCard } from './ChangeCard';
import type { PendingChange } from './pending';
import { CLOSED_SHOWN, closedChangesQuery, openChangesQuery } from './queries';
import { outcomeOf, titleOf } from './words';

type NameOf = (id: string) => string;

function ClosedChange({ change, nameOf }: { change: PendingChange; nameOf: NameOf }) {
  return (
    <li className="py-2.5 wrap-anywhere" data-closed={change.outcome}>
      <span className="font-medium">{titleOf(change, nameOf)}</span>
      <p className="text-meta text-ink-2">
        Proposed by <Named text={nameOf(change.proposed_by)} /> · {outcomeOf(change, nameOf)}
        {change.closed_at && (
          <>
            {' '}
            <Ago at={change.closed_at} />
          </>
        )}
        {change.objection && (
          <>
            {' '}
            · “<Untrusted text={change.objection} />”
          </>
        )}
      </p>
    </li>
  );
}

function ClosedChanges({ nameOf }: { nameOf: NameOf }) {
  const { data, error } = useQuery(closedChangesQuery());
  if (!data) return error ? <Refusal error={error} /> : <CardWait error={null} />;
  if (data.items.length === 0) return <p className="text-ink-2">No closed changes.</p>;
  return (
    <>
      <ul className="divide-y divide-line">
        {data.items.map((change) => (
          <ClosedChange key={change.id} change={change} nameOf={nameOf} />
        ))}
      </ul>
      {data.next_page_token && (
        <p className="text-meta text-ink-2">Only the latest {CLOSED_SHOWN} are listed.</p>
      )}
    </>
  );
}

function Closed({ nameOf }: { nameOf: NameOf }) {
  const [isOpen, setOpen] = useState(false);
  const list = useId();
  return (
    <section aria-label="Closed changes" className="card min-w-0 px-4 py-3.5">
      <Button
        size="small"
        tone="quiet"
        aria-expanded={isOpen}
        aria-controls={isOpen ? list : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        Closed changes
      </Button>
      {isOpen && (
        <div id={list} className="pt-2">
          <ClosedChanges nameOf={nameOf} />
        </div>
      )}
    </section>
  );
}

function Open({ nameOf }: { nameOf: NameOf }) {
  const { data, error, refetch } = useQuery(openChangesQuery());
  if (!data) {
    return error ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <CardWait error={null} />
    );
  }
  if (data.length === 0) {
    return (
      <Empty title="No pending changes">
        A change to the rules that makes approvals easier waits here until another admin publishes
        it.
      </Empty>
    );
  }
  return data.map((change) => <ChangeCard key={change.id} change={change} nameOf={nameOf} />);
}

/** Changes to the rules that are not in force yet, and those that were closed. */
export function ChangesPage() {
  const nameOf = useNames();
  useTitle('Pending changes');
  return (
    <Page title="Pending changes">
      <SetupNote />
      <Open nameOf={nameOf} />
      <Closed nameOf={nameOf} />
    </Page>
  );
}
