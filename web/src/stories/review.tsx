import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '@/api/client';
import { approvalsQuery, explainQuery, statsQuery, type Vote } from '@/api/queries';
import { OutcomeNote } from '@/decide/OutcomeNote';
import type { DecisionState } from '@/decide/decisionState';
import { Diff } from '@/review/Diff';
import { diff } from '@/review/diff';
import { Dock } from '@/review/Dock';
import { Content } from '@/review/Content';
import { EffectHead } from '@/review/EffectHead';
import { ProgramCard } from '@/review/PreviewCard';
import { RiskTable } from '@/review/RiskCard';
import { Says } from '@/review/Says';
import { QuorumCard } from '@/review/QuorumCard';
import { GatesCard } from '@/review/SideCards';
import { Untrusted } from '@/ui/Untrusted';
import {
  approval,
  change,
  decision,
  effect,
  factors,
  intent,
  refusal,
  task,
  vote,
} from './fixtures';
import { nameOf, nothing, type Story } from './common';

const SPOOFS = [
  'docs only \u202egnp.xcod\u202c',
  'pay\u200bpal',
  'a\u0000b\u001b[31mred',
  'שלום עולם',
  '👩‍👩‍👧 and 🚀',
  '<img src=x onerror=alert(1)>',
  'wide\u2003space\u00a0here',
  'x\u2066y\u2069',
  'W'.repeat(120),
];

interface ReviewFacts {
  votes?: Vote[];
  may?: string[];
  required?: number;
  approved?: number;
  members?: string[];
}

const GATES: Schemas['Gate'][] = [
  { name: 'submitted', passed: true, evidence: '' },
  { name: 'policy', passed: true, evidence: '' },
  { name: 'approval', passed: false, evidence: '1 more approval is needed' },
  { name: 'window', passed: true, evidence: '' },
  { name: 'freeze', passed: false, evidence: 'everything is frozen since 14:02: INC-441' },
  { name: 'locks', passed: false, evidence: 'database:shop is held by infra-bot' },
];

/** Fills the query cache, so that components which load data find it there. */
function Seeded({ facts, children }: { facts: ReviewFacts; children: ReactNode }) {
  const [client] = useState(() => {
    const made = new QueryClient({
      defaultOptions: { queries: { staleTime: Infinity, retry: false } },
    });
    const {
      votes = [],
      may = ['usr_me', 'usr_lena'],
      required = 2,
      approved = 0,
      members = may,
    } = facts;
    const group = { min: required, asked_by: [], member_ids: members, excluded: [] };
    made.setQueryData(approvalsQuery('task_story').queryKey, { approvals: [approval()], votes });
    made.setQueryData(statsQuery('task_story').queryKey, {
      task_id: 'task_story',
      state: 'REVIEWING',
      required_count: required,
      approved_count: approved,
      rejected_count: 0,
      pending_count: 1,
      quorum_reached: approved >= required,
    });
    made.setQueryData(explainQuery('task_story').queryKey, {
      state: 'REVIEWING',
      gates: GATES,
      groups: [group],
      approvals_missing: 1,
      rejections: 0,
      next_action: { message: '' },
      may_answer: may.map((user) => ({
        user_id: user,
        for_user_ids: user === 'usr_me' ? ['usr_me', 'usr_marc'] : [user],
        because: [],
      })),
    });
    return made;
  });
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}

const dock = (
  name: string,
  decisionState: DecisionState,
  more: Partial<Parameters<typeof Dock>[0]> = {},
): Story => ({
  name: `Dock: ${name}`,
  show: () => (
    <Seeded facts={{}}>
      <Dock
        task={task()}
        shown={task()}
        decisionState={decisionState}
        decision={decision()}
        isArmed={false}
        onView={nothing}
        {...more}
      />
    </Seeded>
  ),
});

const decide: DecisionState = { kind: 'decide', approval: approval() };

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

const code = Array.from({ length: 40 }, (_, index) => `replica ${index}: 512Mi`);

export const REVIEW: readonly Story[] = [
  {
    name: 'Effect: observed',
    show: () => (
      <>
        <EffectHead shown={task()} level={2} />
        <Content shown={task()} />
      </>
    ),
  },
  {
    name: 'Effect: declared, many changes on many resources',
    show: () => {
      const many = effect({
        origin: 'declared',
        counts: { adds: 12, changes: 3, removes: 0, irreversible: 0 },
        changes: Array.from({ length: 15 }, (_, index) =>
          change({ action: 'add', irreversible: false, summary: `replica ${index}` }),
        ),
      });
      const resources = ['service:checkout', 'service:billing', 'service:support'].map(
        (resource) => ({ resource }),
      );
      return (
        <>
          <EffectHead shown={task({ effect: many, resources })} level={2} />
          <Content shown={task({ effect: many, resources })} />
        </>
      );
    },
  },
  {
    name: 'Effect: missing, preview failed',
    show: () => (
      <EffectHead
        level={2}
        shown={task({
          effect: effect({
            counts: { adds: 0, changes: 0, removes: 0, irreversible: 0 },
            changes: [],
            errors: ['syntax error'],
          }),
        })}
      />
    ),
  },
  {
    name: 'Untrusted text',
    show: () => (
      <ul className="space-y-1">
        {SPOOFS.map((text) => (
          <li key={text} className="wrap-anywhere">
            <Untrusted text={text} />
          </li>
        ))}
      </ul>
    ),
  },
  {
    name: 'Author description',
    show: () => <Says task={task({ title: SPOOFS.join(' ') })} nameOf={nameOf} />,
  },
  { name: 'Risk by factor', show: () => <RiskTable factors={factors} /> },
  {
    name: 'Difference: unified',
    show: () => (
      <Diff
        lines={diff(
          code,
          code.map((line, index) => (index === 20 ? line.replace('512', '1024') : line)),
        )}
        isSplit={false}
        isWhole={false}
        label="Unified"
      />
    ),
  },
  {
    name: 'Difference: split',
    show: () => (
      <Diff lines={diff(['a', 'b', 'c'], ['a', 'x', 'y', 'c'])} isSplit isWhole label="Split" />
    ),
  },
  { name: 'What would run', show: () => <ProgramCard shown={task()} /> },
  quorum('one approval, one stale vote', {
    approved: 1,
    votes: [vote('usr_lena'), vote('usr_tom', { digest: 'sha256:old', revision: 2 })],
  }),
  quorum('too few reviewers', { required: 3, may: ['usr_me'] }),
  quorum('rejected, late, carried over', {
    votes: [
      vote('usr_lena', { answer: 'reject', reason: 'not on a Friday' }),
      vote('usr_tom', { counted: false }),
      vote('usr_marc', { carried_from: 2 }),
    ],
  }),
  {
    name: 'Checks',
    show: () => (
      <Seeded facts={{}}>
        <div className="max-w-[300px]">
          <GatesCard task={task()} />
        </div>
      </Seeded>
    ),
  },
  dock('decide', decide),
  dock('recording', decide, {
    decision: decision({ kind: 'recording', intent }, 'Your decision is being recorded.'),
  }),
  dock('unknown result', decide, {
    decision: decision({ kind: 'unclear', intent, looks: 2 }, 'Your decision is being recorded.'),
  }),
  dock('not recorded', decide, { decision: decision({ kind: 'absent', intent }) }),
  dock('refused', decide, {
    decision: decision({
      kind: 'refused',
      intent,
      problem: refusal(
        403,
        'not_asked',
        'You are not a reviewer',
        'another policy applies now',
        'See who can vote.',
      ).problem,
    }),
  }),
  dock('offline', decide, {
    decision: decision(
      undefined,
      'The server cannot be reached. Changes are disabled until the connection is back.',
    ),
  }),
  dock('replaced', { kind: 'replaced', from: 3, to: 4 }),
  dock('your own task', { kind: 'author' }),
  dock('not a reviewer', { kind: 'unasked' }),
  dock('an agent', { kind: 'agent' }),
  dock('read-only', { kind: 'scope' }),
  dock('expired', { kind: 'over', state: 'EXPIRED' }, { task: task({ state: 'EXPIRED' }) }),
  dock('voted', { kind: 'voted', vote: vote('usr_me'), approval: approval() }),
  dock(
    'voted too late',
    { kind: 'voted', vote: vote('usr_me', { counted: false }), approval: approval() },
    { task: task({ state: 'REJECTED' }) },
  ),
  {
    name: 'Outcome: stale',
    show: () => <OutcomeNote outcome={{ kind: 'stale', intent }} onAgain={nothing} />,
  },
];
