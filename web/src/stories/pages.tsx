import { entryOf } from '@/audit/leaf';
import { Sentence } from '@/audit/AuditPage';
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

const leaf = (action: string, object: string, more: object = {}) =>
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

const LEAVES = [
  leaf('task.open_review', 'task_01m7h1amgre6jt9hjhbbjpaj5d', {
    who: { kind: 'system', worker: 'review_opener' },
    what: {
      action: 'task.open_review',
      object: 'task_01m7h1amgre6jt9hjhbbjpaj5d',
      from: 'SUBMITTED',
      to: 'REVIEWING',
      revision: 1,
    },
  }),
  leaf('task.submit', 'task_x', {
    who: { kind: 'agent', agent: 'agt_support', on_behalf_of: 'usr_ana' },
  }),
  leaf('lock.break', 'database:shop', { why: { reason: 'docs only \u202egnp.xcod\u202c' } }),
  leaf('policy.publish', 'pol_01m7wnbb version 2'),
  leaf('moon.land', 'something new'),
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
      id: 'task_1',
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
  'The rules do not allow it',
  'webhook.read is refused: it is open to an admin',
  'Ask an admin if you think you should be allowed.',
);

export const PAGES: readonly Story[] = [
  {
    name: 'Audit: sentences',
    show: () => (
      <div role="grid" aria-label="Leaves" className="space-y-2">
        {LEAVES.map((entry) => (
          <div key={entry.key} role="row">
            <Sentence entry={entry} nameOf={nameOf} />
          </div>
        ))}
      </div>
    ),
  },
  { name: 'What if: some looser', show: () => <ReplayLook replayed={replayed()} /> },
  {
    name: 'What if: without a person, and cut',
    show: () => <ReplayLook replayed={replayed({ without_a_person: 15, is_cut: true })} />,
  },
  {
    name: 'What if: nothing to try it on',
    show: () => <ReplayLook replayed={replayed({ examined: 0, same: 0, looser: 0, tasks: [] })} />,
  },
  {
    name: 'Changes of fields',
    show: () => <Changes changes={[{ path: 'require[0].min', before: 2, after: 1 }]} />,
  },
  { name: 'Changes of fields: none', show: () => <Changes changes={[]} /> },
  {
    name: 'Overview: something does not work',
    show: () => (
      <Degraded
        status={{
          readiness: 'ready',
          uptime_s: 9,
          workers: [],
          banner: 'Live events are late',
          degradations: [{ part: 'redis', detail: 'events are told late' }],
        }}
      />
    ),
  },
  {
    name: 'Overview: day by day',
    show: () => <DaysCard overview={overview} span="7" onSpan={nothing} />,
  },
  { name: 'Refused, beside what was tried', show: () => <Refusal error={denied} /> },
  { name: 'Refused: nobody answered', show: () => <Refusal error={new Error('cut')} /> },
  {
    name: 'Settings: a list that is refused',
    show: () => (
      <ListCard title="Webhooks" none="Nobody is told." items={undefined} error={denied}>
        {() => null}
      </ListCard>
    ),
  },
  {
    name: 'Settings: an empty list',
    show: () => (
      <ListCard title="Webhooks" none="Nobody is told." items={[]} error={null}>
        {() => null}
      </ListCard>
    ),
  },
  {
    name: 'Settings: a form that is barred and was refused',
    show: () => (
      <FormCard
        title="Enter a person"
        word="Enter"
        busy="Entering…"
        isPending={false}
        barred="Only admins may do this."
        error={denied}
        onSend={nothing}
      >
        <Field label="Name" value="" onChange={nothing} />
      </FormCard>
    ),
  },
  {
    name: 'Shown once',
    show: () => <Secret title="The token, shown once" value="ade_usr_not_a_real_one" />,
  },
  {
    name: 'Asked twice',
    show: () => <Sure word="Revoke" again="Revoke for good?" onSure={nothing} />,
  },
];
