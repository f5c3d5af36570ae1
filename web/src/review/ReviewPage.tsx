import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import { toast } from 'sonner';
import { useNames } from '@/api/names';
import { Refused } from '@/api/problem';
import { approvalsQuery, type Task, taskQuery } from '@/api/queries';
import { leave } from '@/decide/decide';
import { decisionState } from '@/decide/decisionState';
import { useDecision } from '@/decide/useDecision';
import { useNeeds } from '@/inbox/data';
import { useArmed } from '@/decide/useArmed';
import { useActions } from '@/keys/react';
import { ReadingArea, useReading } from '@/reading/react';
import { useMe } from '@/session/session';
import { NotFound } from '@/shell/NotFound';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { classes } from '@/ui/classes';
import { StateChip } from '@/ui/StateChip';
import { Ago, Due } from '@/ui/Time';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import { DecisionNote } from './DecisionNote';
import { Dock } from './Dock';
import { EffectHead } from './EffectHead';
import { shortDigest, titleOf } from './effect';
import { LossCard } from './LossCard';
import { PreviewCard, ProgramCard } from './PreviewCard';
import { RiskCard } from './RiskCard';
import { Says } from './Says';
import { QuorumCard } from './QuorumCard';
import { AuditCard, GatesCard, LocksCard, TrajectoryCard } from './SideCards';
import { useParts } from './useParts';

const route = getRouteApi('/tasks/$id');

export function ReviewPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(taskQuery(id));
  // Rendered in chunks, so that keys are handled in between.
  const isReady = useDeferredValue(useParts(id));
  if (error instanceof Refused && error.is('not_found')) return <NotFound />;
  if (!data || !isReady) {
    return error && !data ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <div aria-busy="true" className="space-y-4 p-6">
        <h1 className="sr-only">Task</h1>
        <span className="waiting block h-7 w-1/2" />
        <span className="waiting block h-4 w-1/3" />
        <span className="waiting block h-48 w-full" />
      </div>
    );
  }
  // An address may have the number of the task, as in /tasks/T-8.
  if (data.id !== id) {
    return <Navigate to="/tasks/$id" params={{ id: data.id }} search={(kept) => kept} replace />;
  }
  return <Review key={id} task={data} isOld={Boolean(error)} />;
}

/** Position of the task among those that wait for the reader. */
function useNeighbours(id: string) {
  const { rows } = useNeeds();
  const at = rows.findIndex(({ task }) => task === id);
  return { before: at > 0 ? rows[at - 1]?.task : undefined, after: rows[at + 1]?.task };
}

function copy(text: string, what: string): void {
  void navigator.clipboard.writeText(text).then(() => toast(`Copied ${what}`));
}

/** `task` is the current state on the server; `shown` is the revision on screen, which a vote is
 *  about. They differ when a new revision arrives, until the reader opens it. */
function Review({ task, isOld }: { task: Task; isOld: boolean }) {
  const me = useMe();
  const nameOf = useNames();
  const navigate = useNavigate();
  const { compare } = route.useSearch();
  const [pinned, setPinned] = useState(task);
  const shown = pinned.digest === task.digest && pinned.revision === task.revision ? task : pinned;
  const approvals = useQuery(approvalsQuery(task.id));
  const now = decisionState({
    me: { id: me.id, isAgent: me.isAgent, mayDecide: me.scopes.includes('decide') },
    task,
    shown,
    approvals: approvals.data?.approvals ?? [],
    votes: approvals.data?.votes ?? [],
  });
  const { reading, bar: unread } = useReading(`${shown.id} ${shown.revision} ${shown.digest}`);
  const decision = useDecision(shown, now, unread);
  const mayApprove = now.kind === 'decide' && !decision.approveBar;
  const armed = useArmed(mayApprove ? shown : undefined, () => decision.ask('approve'));
  const { before, after } = useNeighbours(task.id);
  const mine = approvals.data?.approvals.find(
    (one) => one.reviewer_id === me.id && one.status === 'PENDING',
  );
  useTitle(`T-${task.number} ${titleOf(shown)}`);
  useEffect(() => () => leave(task.id), [task.id]);

  const setSince = (since: number | undefined) =>
    void navigate({
      to: '/tasks/$id',
      params: { id: task.id },
      search: { compare: since },
      replace: true,
    });
  const view = () => {
    setSince(shown.revision);
    setPinned(task);
    leave(task.id);
  };
  const go = (id: string | undefined) => () =>
    id && void navigate({ to: '/tasks/$id', params: { id }, search: {} });
  const isMine = now.kind === 'decide';
  const notMine = isMine ? decision.bar : 'There is nothing for you to decide on this task.';
  useActions([
    {
      id: 'approve',
      title: 'Approve',
      group: 'Review',
      keys: ['a'],
      isLocal: true,
      disabledReason: notMine ?? decision.approveBar,
      run: armed.press,
    },
    {
      id: 'reject',
      title: 'Reject',
      group: 'Review',
      keys: ['r'],
      isLocal: true,
      disabledReason: notMine,
      run: () => decision.ask('reject'),
    },
    {
      id: 'changes',
      title: 'Request changes',
      group: 'Review',
      keys: ['c'],
      isLocal: true,
      disabledReason: notMine,
      run: () => decision.ask('request_changes'),
    },
    {
      id: 'view',
      title: 'Show the new revision',
      group: 'Review',
      keys: ['v'],
      isLocal: true,
      disabledReason: now.kind === 'replaced' ? undefined : 'There is no newer revision.',
      run: view,
    },
    {
      id: 'next',
      title: 'Next task',
      group: 'Review',
      keys: [']', 'j'],
      isLocal: true,
      run: go(after),
    },
    {
      id: 'previous',
      title: 'Previous task',
      group: 'Review',
      keys: ['[', 'k'],
      isLocal: true,
      run: go(before),
    },
    {
      id: 'back',
      title: armed.isArmed ? 'Do not approve' : 'Back to inbox',
      group: 'Review',
      keys: ['Escape'],
      isLocal: true,
      run: armed.isArmed ? armed.disarm : () => void navigate({ to: '/inbox', search: {} }),
    },
    {
      id: 'copy',
      title: 'Copy link',
      group: 'Review',
      keys: ['y'],
      isLocal: true,
      run: () => copy(location.href, 'link'),
    },
    {
      id: 'copy-cli',
      title: 'Copy CLI command',
      group: 'Review',
      keys: ['Shift+y'],
      isLocal: true,
      run: () => copy(`ade tasks get ${task.id}`, 'command'),
    },
  ]);
  const since =
    compare !== undefined && compare < shown.revision && compare > 0 ? compare : undefined;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="group" aria-label="Task">
        <div className="mx-auto max-w-[1240px] px-6 pt-3 pb-6 max-md:px-4">
          <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1.5">
            <nav aria-label="Breadcrumb" className="font-mono text-meta text-ink-3">
              <Link to="/inbox" search={{}} className="hover:text-ink hover:underline">
                Inbox
              </Link>{' '}
              / T-{task.number}
            </nav>
            <StateChip state={task.state} detail={task.sub_state} />
            <Chip>revision {shown.revision}</Chip>
            <button
              type="button"
              title={`Copy digest ${shown.digest}`}
              onClick={() => copy(shown.digest, 'digest')}
              className="min-h-6 font-mono text-meta text-ink-3 hover:text-ink"
            >
              sha256 {shortDigest(shown.digest)}
            </button>
            <span className="flex-1" />
            <span className="text-meta text-ink-2">
              {mine ? (
                <>
                  due in <Due at={mine.due_at} />
                </>
              ) : (
                <>
                  since <Ago at={task.state_since} />
                </>
              )}
            </span>
            <span className="flex gap-1 max-md:hidden">
              <Button
                size="small"
                tone="quiet"
                keys="["
                disabledReason={before ? undefined : 'This is the first task.'}
                onClick={go(before)}
              >
                Previous
              </Button>
              <Button
                size="small"
                tone="quiet"
                keys="]"
                disabledReason={after ? undefined : 'This is the last task.'}
                onClick={go(after)}
              >
                Next
              </Button>
            </span>
          </div>
          <DecisionNote decision={task.decision} nameOf={nameOf} />
          {task.warnings?.map(({ code, message }) => (
            <p
              key={code}
              data-warning={code}
              className="mt-2 rounded-control bg-medium-soft px-3 py-1.5 text-medium"
            >
              <Untrusted text={message} />
            </p>
          ))}
          {isOld && (
            <p role="alert" className="mt-2 rounded-control bg-sunken px-3 py-1.5 text-meta">
              The server is not responding. This page shows the last known state.
            </p>
          )}
          <header
            className={classes(
              'grid gap-x-6 gap-y-3 py-3 lg:grid-cols-[minmax(0,1fr)_minmax(280px,36%)]',
            )}
          >
            <EffectHead shown={shown} level={1} />
            <Says task={shown} nameOf={nameOf} />
          </header>
          <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_300px]">
            <div className="contents lg:flex lg:min-w-0 lg:flex-col lg:gap-4">
              <ReadingArea reading={reading}>
                <ProgramCard shown={shown} />
                <LossCard effect={shown.effect} />
                <PreviewCard shown={shown} since={since} onSince={setSince} />
              </ReadingArea>
              <RiskCard task={task} shown={shown} />
              <TrajectoryCard task={shown} nameOf={nameOf} />
            </div>
            <div className="contents lg:flex lg:min-w-0 lg:flex-col lg:gap-4">
              <QuorumCard task={task} nameOf={nameOf} />
              <GatesCard task={task} />
              <LocksCard shown={shown} nameOf={nameOf} />
              <AuditCard task={task} nameOf={nameOf} />
            </div>
          </div>
        </div>
      </div>
      <Dock
        task={task}
        shown={shown}
        decisionState={now}
        decision={decision}
        isArmed={armed.isArmed}
        onView={view}
      />
    </div>
  );
}
