import { entryOf } from '@/audit/leaf';
import { Sentence } from '@/audit/AuditPage';
import { Findings } from '@/changes/ChangeCard';
import type { Schemas } from '@/api/client';
import { Degraded } from '@/overview/OverviewPage';
import { DaysCard } from '@/overview/DaysCard';
import { ReplayLook } from '@/policies/WhatIf';
import type { Replayed } from '@/policies/queries';
import { FormCard, ListCard } from '@/settings/parts';
import { Changes } from '@/ui/Changes';
import { Field } from '@/ui/Field';
import { Refusal } from '@/ui/Refusal';
import { Secret } from '@/ui/Secret';
import { Sure } from '@/ui/Sure';
import { nameOf, nothing, type Story } from './common';
import { refusal } from './fixtures';

const audited = (action: string, object: string, more: object = {}) =>
  entryOf({
    id: `leaf_${action}`,
    hash: 'sha256:0',
    leaf: {
      who: { kind: 'user', user: 'usr_me' },
      what: { action, object, from: null, to: null, revision: null },
      when: '2026-11-14T14:02:00.000000Z',
      why: { reason: null },
      ...more,
    } as unknown as Record<string, never>,
  });

const AUDITED = [
  audited('task.open_review', 'task_01m7h1amgre6jt9hjhbbjpaj5d', {
    who: { kind: 'system', worker: 'review_opener' },
    what: {
      action: 'task.open_review',
      object: 'task_01m7h1amgre6jt9hjhbbjpaj5d',
      from: 'SUBMITTED',
      to: 'REVIEWING',
      revision: 1,
    },
  }),
  audited('task.submit', 'task_x', {
    who: {
      kind: 'agent',
      agent: 'agt_support',
      on_behalf_of: 'usr_ana',
      credential: { kind: 'token', key_id: 'Zt3kq9vXw0A', issued_by: 'usr_me', step_up: null },
    },
  }),
  audited('lock.break', 'database:shop', { why: { reason: 'docs only \u202egnp.xcod\u202c' } }),
  audited('policy.publish', 'pol_01m7wnbb version 2'),
  audited('user.set_roles', 'usr_lena', { setup: true }),
  audited('moon.land', 'something new'),
];

const replayed = (more: Partial<Replayed> = {}): Replayed => ({
  days: 30,
  examined: 4118,
  is_cut: false,
  same: 3902,
  stricter: 201,
  looser: 15,
  mixed: 0,
  without_a_person: 0,
  tasks: [
    {
      task_id: 'task_1',
      number: 48208,
      title: 'Remove the legacy token of customers',
      verdict: 'looser',
      without_a_person: false,
      before: '2 of reviewer',
      after: '1 of reviewer',
    },
  ],
  ...more,
});

const proposed: Schemas['PendingChange'] = {
  id: 'chg_story',
  kind: 'settings.timeouts',
  object: 'timeouts',
  command: {},
  verdict: 'mixed',
  findings: [
    { verdict: 'looser', sentence: 'Lena Koch gets the role docs only \u202egnp.xcod\u202c' },
    { verdict: 'stricter', sentence: 'batch_approvals is disabled' },
    { verdict: 'mixed', sentence: 'the agent support-agent belongs to Ana Ruiz' },
  ],
  tasks: replayed().tasks,
  proposed_by: 'usr_me',
  proposed_at: '2026-11-14T14:02:00Z',
  digest: 'sha256:0',
  next_action: { message: 'another admin must publish it' },
};

const overview: Schemas['Overview'] = {
  as_of: '2026-11-14T14:02:00Z',
  open_tasks: [],
  pending_approvals: { count: 0, is_more: false },
  overdue_approvals: { count: 0, is_more: false },
  after_reviews_owed: { count: 0, is_more: false },
  days: [12, 31, 18, 44, 9, 3, 27].map((count, index) => ({
    day: `2026-11-0${index + 1}`,
    entered: { SUBMITTED: count, APPROVED: count - 2, COMPLETED: count - 3, FAILED: index % 2 },
    actions: {},
  })),
};

const denied = refusal(
  403,
  'not_allowed',
  'You don’t have access',
  'only admins can read webhooks',
  'Ask an admin for access.',
);

export const PAGES: readonly Story[] = [
  {
    name: 'Audit: sentences',
    show: () => (
      <div role="grid" aria-label="Audit entries" className="space-y-2">
        {AUDITED.map((entry) => (
          <div key={entry.key} role="row">
            <Sentence entry={entry} nameOf={nameOf} />
          </div>
        ))}
      </div>
    ),
  },
  { name: 'Replay: some looser', show: () => <ReplayLook replayed={replayed()} /> },
  {
    name: 'Replay: auto-approved, partial',
    show: () => <ReplayLook replayed={replayed({ without_a_person: 15, is_cut: true })} />,
  },
  {
    name: 'Replay: no tasks',
    show: () => <ReplayLook replayed={replayed({ examined: 0, same: 0, looser: 0, tasks: [] })} />,
  },
  {
    name: 'Changed fields',
    show: () => <Changes changes={[{ path: 'require[0].min', before: 2, after: 1 }]} />,
  },
  { name: 'Changed fields: none', show: () => <Changes changes={[]} /> },
  {
    name: 'Overview: degraded',
    show: () => (
      <Degraded
        status={{
          readiness: 'ready',
          uptime_seconds: 9,
          workers: [],
          banner: 'Live events are late',
          degradations: [{ part: 'redis', detail: 'events arrive late' }],
        }}
      />
    ),
  },
  {
    name: 'Overview: tasks per day',
    show: () => <DaysCard overview={overview} span="7" onSpan={nothing} />,
  },
  { name: 'Error next to its action', show: () => <Refusal error={denied} /> },
  { name: 'Error: no response', show: () => <Refusal error={new Error('cut')} /> },
  {
    name: 'Settings: list without access',
    show: () => (
      <ListCard title="Webhooks" none="No webhooks yet." items={undefined} error={denied}>
        {() => null}
      </ListCard>
    ),
  },
  {
    name: 'Settings: empty list',
    show: () => (
      <ListCard title="Webhooks" none="No webhooks yet." items={[]} error={null}>
        {() => null}
      </ListCard>
    ),
  },
  {
    name: 'Pending change: consequences',
    show: () => <Findings change={proposed} />,
  },
  {
    name: 'Settings: disabled form with error',
    show: () => (
      <FormCard
        title="Add a person"
        word="Add person"
        busy="Adding…"
        isPending={false}
        disabledReason="Only admins can do this."
        error={denied}
        onSend={nothing}
      >
        <Field label="Name" value="" onChange={nothing} />
      </FormCard>
    ),
  },
  {
    name: 'Secret',
    show: () => <Secret title="Shown only once" value="ade_usr_not_a_real_one" />,
  },
  {
    name: 'Button with confirmation',
    show: () => <Sure word="Revoke" again="Confirm: revoke token" onSure={nothing} />,
  },
];
