// Every state of the catalogue for the pages there are. Outside of the production bundle.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '@/api/client';
import { approvalsQuery, explainQuery, statsQuery, type State, type Vote } from '@/api/queries';
import { OutcomeNote } from '@/decide/OutcomeNote';
import type { Stand } from '@/decide/stand';
import { AgeCell, RiskCell, STATE_COLUMNS, STATE_TEMPLATE, StateCell, TitleCell } from '@/list/Cells';
import { List } from '@/list/List';
import { Skeleton } from '@/list/Skeleton';
import { Empty, FreshStrip, StaleStrip } from '@/list/Strips';
import { Diff } from '@/review/Diff';
import { diff } from '@/review/diff';
import { Dock } from '@/review/Dock';
import { ChangeLines, EffectHead } from '@/review/EffectHead';
import { ProgramCard } from '@/review/PreviewCard';
import { RiskTable } from '@/review/RiskCard';
import { Says } from '@/review/Says';
import { GatesCard, QuorumCard } from '@/review/SideCards';
import { Login } from '@/session/Login';
import { MeContext } from '@/session/session';
import { BannerLook } from '@/shell/Freeze';
import { PillLook } from '@/shell/Pill';
import { Button } from '@/ui/Button';
import { Risk } from '@/ui/Risk';
import { StateChip } from '@/ui/StateChip';
import { Trouble } from '@/ui/Trouble';
import { Untrusted } from '@/ui/Untrusted';
import {
  approval, change, decision, effect, factors, intent, refusal, row, task, vote,
} from './fixtures';

export interface Story {
  readonly name: string;
  readonly show: () => ReactNode;
}

const NAMES: Record<string, string> = {
  usr_me: 'Priya Nair', usr_marc: 'Marc Dubois', usr_lena: 'Lena Koch', usr_tom: 'Tom Weber', usr_ana: 'Ana Ruiz',
  agt_support: 'support-agent',
};
const nameOf = (id: string) => NAMES[id] ?? id;
const nothing = () => undefined;

const me = { id: 'usr_me', name: 'Priya Nair', roles: ['reviewer'], scopes: ['read', 'decide'], isAgent: false } as const;

const STATES: State[] = ['DRAFT', 'SUBMITTED', 'REVIEWING', 'APPROVED', 'APPLYING', 'COMPLETED', 'REJECTED',
  'CANCELLED', 'FAILED', 'UNKNOWN', 'EXPIRED'];

const SPOOFS = ['docs only \u202egnp.xcod\u202c', 'pay\u200bpal', 'a\u0000b\u001b[31mred', 'שלום עולם', '👩‍👩‍👧 and 🚀',
  '<img src=x onerror=alert(1)>', 'wide\u2003space\u00a0here', 'x\u2066y\u2069', 'W'.repeat(120)];

interface ReviewFacts {
  votes?: Vote[];
  may?: string[];
  required?: number;
  approved?: number;
  members?: string[];
}

const GATES: Schemas['Gate'][] = [
  { name: 'submitted', is_open: true, evidence: '' },
  { name: 'policy', is_open: true, evidence: '' },
  { name: 'approval', is_open: false, evidence: '1 more approval is needed' },
  { name: 'window', is_open: true, evidence: '' },
  { name: 'freeze', is_open: false, evidence: 'everything is frozen since 14:02: INC-441' },
  { name: 'locks', is_open: false, evidence: 'database:shop is held by infra-bot' },
];

/** Parts that read for themselves find everything read already. */
function Seeded({ facts, children }: { facts: ReviewFacts; children: ReactNode }) {
  const [client] = useState(() => {
    const made = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
    const { votes = [], may = ['usr_me', 'usr_lena'], required = 2, approved = 0, members = may } = facts;
    const group = { min: required, asked_by: [], members, excluded: [] };
    made.setQueryData(approvalsQuery('task_story').queryKey, { approvals: [approval()], votes });
    made.setQueryData(statsQuery('task_story').queryKey, {
      task: 'task_story', state: 'REVIEWING', required_count: required, approved_count: approved,
      rejected_count: 0, pending_count: 1, quorum_reached: approved >= required,
    });
    made.setQueryData(explainQuery('task_story').queryKey, {
      state: 'REVIEWING', gates: GATES, groups: [group], approvals_missing: 1, rejections: 0, next_action: '',
      may_answer: may.map((user) => ({ user, for_users: user === 'usr_me' ? ['usr_me', 'usr_marc'] : [user], because: [] })),
    });
    return made;
  });
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}

const dock = (name: string, stand: Stand, more: Partial<Parameters<typeof Dock>[0]> = {}): Story => ({
  name: `Dock: ${name}`,
  show: () => (
    <Seeded facts={{}}>
      <Dock task={task()} shown={task()} stand={stand} decision={decision()} onView={nothing} {...more} />
    </Seeded>
  ),
});

const decide: Stand = { kind: 'decide', approval: approval() };

const quorum = (name: string, facts: ReviewFacts): Story => ({
  name: `Quorum: ${name}`,
  show: () => (
    <Seeded facts={facts}>
      <div className="max-w-[300px]">
        <QuorumCard task={task()} nameOf={nameOf} />
      </div>
    </Seeded>
  ),
});

function ManyRows() {
  const [rows] = useState(() => Array.from({ length: 10_000 }, (_, index) => row(index)));
  const [cursor, setCursor] = useState(2);
  return (
    <div className="flex h-[420px]">
      <List rows={rows} cursor={cursor} onCursor={setCursor} onOpen={nothing} label="Ten thousand"
        columns={STATE_COLUMNS} template={STATE_TEMPLATE}>
        {drawn}
      </List>
    </div>
  );
}

const drawn = (one: ReturnType<typeof row>) => (
  <>
    <RiskCell row={one} />
    <TitleCell row={one} by="Ana Ruiz" />
    <StateCell row={one} />
    <AgeCell row={one} />
  </>
);

const code = Array.from({ length: 40 }, (_, index) => `replica ${index}: 512Mi`);

const STORIES: Story[] = [
  {
    name: 'Connection: every word',
    show: () => (
      <div className="flex flex-wrap gap-3">
        <PillLook word="live" />
        <PillLook word="reconnecting" retrySeconds={3} />
        <PillLook word="polling" />
        <PillLook word="behind" lagMs={42_000} />
        <PillLook word="offline" heardAt={Date.parse('2026-11-14T14:01:07Z')} />
        <PillLook word="paused" />
      </div>
    ),
  },
  { name: 'States', show: () => <div className="flex flex-wrap gap-2">{STATES.map((one) => <StateChip key={one} state={one} />)}</div> },
  {
    name: 'Risk',
    show: () => (
      <div className="grid gap-2">
        <Risk level="LOW" score={8} />
        <Risk level="MEDIUM" score={41} />
        <Risk level="HIGH" score={78} />
        <Risk level="CRITICAL" score={92} />
      </div>
    ),
  },
  {
    name: 'Buttons, also barred',
    show: () => (
      <div className="flex flex-wrap gap-2">
        <Button tone="primary" keys="a">Approve rev 3</Button>
        <Button tone="danger" keys="r">Reject…</Button>
        <Button keys="c">Request changes</Button>
        <Button tone="quiet">Clear</Button>
        <Button tone="primary" barred="You asked for this task.">Approve rev 3</Button>
      </div>
    ),
  },
  {
    name: 'Frozen',
    show: () => (
      <BannerLook by="Lena Koch" onLift={nothing}
        freeze={{ id: 'frz_1', in_force: true, reason: 'INC-441: checkout is down', scope: 'tenant',
          set_at: '2026-11-14T14:02:00Z', set_by: 'usr_lena' }} />
    ),
  },
  { name: 'List: loading', show: () => <div className="flex h-[220px]"><Skeleton /></div> },
  { name: 'List: empty after a filter', show: () => <Empty title="Nothing fits the filter"><Button>Clear “risk:&gt;60”</Button></Empty> },
  { name: 'List: empty at first use', show: () => <Empty title="No tasks yet">What agents and people propose appears here.</Empty> },
  { name: 'List: old data', show: () => <StaleStrip readAt={Date.parse('2026-11-14T14:01:07Z')} onRetry={nothing} /> },
  { name: 'List: new rows', show: () => <FreshStrip count={3} onShow={nothing} /> },
  { name: 'List: ten thousand, long names, right to left, emoji', show: () => <ManyRows /> },
  {
    name: 'Error with a code',
    show: () => <Trouble onRetry={nothing} error={refusal(503, 'database_unavailable', 'The record cannot be reached', 'nothing was read', 'Try again in a moment.')} />,
  },
  {
    name: 'Forbidden',
    show: () => <Trouble error={refusal(403, 'not_allowed', 'The rules do not allow it', 'only an admin may do this', 'Ask an admin of your tenant.')} />,
  },
  { name: 'No answer at all', show: () => <Trouble onRetry={nothing} error={new Error('cut')} /> },
  { name: 'Sign in', show: () => <Login /> },
  {
    name: 'Effect: observed',
    show: () => <><EffectHead effect={effect()} resources={task().resources} level={2} /><ChangeLines effect={effect()} max={3} /></>,
  },
  {
    name: 'Effect: stated, with many changes on many resources',
    show: () => {
      const many = effect({ origin: 'declared', counts: { adds: 12, changes: 3, removes: 0, irreversible: 0 },
        changes: Array.from({ length: 15 }, (_, index) => change({ action: 'add', irreversible: false, summary: `replica ${index}` })) });
      const resources = ['service:checkout', 'service:billing', 'service:support'].map((resource) => ({ resource }));
      return <><EffectHead effect={many} resources={resources} level={2} /><ChangeLines effect={many} max={3} /></>;
    },
  },
  {
    name: 'Effect: missing, and the trial failed',
    show: () => <EffectHead level={2} resources={task().resources}
      effect={effect({ counts: { adds: 0, changes: 0, removes: 0, irreversible: 0 }, changes: [], errors: ['syntax error'] })} />,
  },
  { name: 'Text of others', show: () => <ul className="space-y-1">{SPOOFS.map((text) => <li key={text} className="wrap-anywhere"><Untrusted text={text} /></li>)}</ul> },
  { name: 'What the author says', show: () => <Says task={task({ title: SPOOFS.join(' ') })} nameOf={nameOf} /> },
  { name: 'Risk by factor', show: () => <RiskTable factors={factors} /> },
  { name: 'Difference: unified', show: () => <Diff lines={diff(code, code.map((line, index) => (index === 20 ? line.replace('512', '1024') : line)))} isSplit={false} isWhole={false} label="Unified" /> },
  { name: 'Difference: split', show: () => <Diff lines={diff(['a', 'b', 'c'], ['a', 'x', 'y', 'c'])} isSplit isWhole label="Split" /> },
  { name: 'What would run', show: () => <ProgramCard shown={task()} /> },
  quorum('one has agreed, an older answer', { approved: 1, votes: [vote('usr_lena'), vote('usr_tom', { digest: 'sha256:old', revision: 2 })] }),
  quorum('nobody can make it pass', { required: 3, may: ['usr_me'] }),
  quorum('rejected, late, carried over', {
    votes: [vote('usr_lena', { answer: 'reject', reason: 'not on a Friday' }), vote('usr_tom', { effectual: false }),
      vote('usr_marc', { carried_from: 2 })],
  }),
  { name: 'Gates', show: () => <Seeded facts={{}}><div className="max-w-[300px]"><GatesCard task={task()} /></div></Seeded> },
  dock('decide', decide),
  dock('recording', decide, { decision: decision({ kind: 'recording', intent }, 'Your decision is being recorded.') }),
  dock('unknown result', decide, { decision: decision({ kind: 'unclear', intent, looks: 2 }, 'Your decision is being recorded.') }),
  dock('not recorded', decide, { decision: decision({ kind: 'absent', intent }) }),
  dock('refused', decide, {
    decision: decision({ kind: 'refused', intent,
      problem: refusal(403, 'not_asked', 'You were not asked', 'another policy holds now', 'See who may answer.').problem }),
  }),
  dock('offline', decide, { decision: decision(undefined, 'The server cannot be reached. Nothing can be decided until it answers again.') }),
  dock('replaced', { kind: 'replaced', from: 3, to: 4 }),
  dock('your own task', { kind: 'author' }),
  dock('not asked', { kind: 'unasked' }),
  dock('an agent', { kind: 'agent' }),
  dock('read-only', { kind: 'scope' }),
  dock('expired', { kind: 'over', state: 'EXPIRED' }, { task: task({ state: 'EXPIRED' }) }),
  dock('voted', { kind: 'voted', vote: vote('usr_me'), approval: approval() }),
  dock('voted too late', { kind: 'voted', vote: vote('usr_me', { effectual: false }), approval: approval() }, { task: task({ state: 'REJECTED' }) }),
  { name: 'Outcome: stale', show: () => <OutcomeNote outcome={{ kind: 'stale', intent }} onAgain={nothing} /> },
];

export const stories: readonly Story[] = STORIES.map(({ name, show }) => ({
  name,
  show: () => <MeContext value={me}>{show()}</MeContext>,
}));
