// Sample data for stories; every item is a state that a page can be in.
import type { Schemas } from '@/api/client';
import { Refused } from '@/api/problem';
import type { Approval, Change, Effect, Task, Vote } from '@/api/queries';
import type { Decision } from '@/decide/useDecision';
import type { Intent, Outcome } from '@/decide/outcome';
import { NONE } from '@/decide/outcome';
import type { Row } from '@/inbox/rows';

const AT = '2026-11-14T14:02:00.000000Z';
export const DIGEST = `sha256:9f1c${'0'.repeat(56)}44ab`;

export const change = (more: Partial<Change> = {}): Change => ({
  action: 'remove',
  irreversible: true,
  resource: 'database:shop',
  summary: 'drop column public.customer.legacy_token',
  before: 'legacy_token: text',
  ...more,
});

export const effect = (more: Partial<Effect> = {}): Effect => ({
  origin: 'observed',
  counts: { adds: 0, changes: 1, removes: 1, irreversible: 1 },
  changes: [
    change(),
    change({
      action: 'change',
      irreversible: false,
      summary: 'change column public.customer.email',
      before: 'email: text',
      after: 'email: text | not null',
    }),
  ],
  warnings: [],
  errors: [],
  ...more,
});

export const task = (more: Partial<Task> = {}): Task => ({
  id: 'task_story',
  number: 48208,
  title: 'Remove the legacy token of customers',
  type: 'sql.change',
  state: 'REVIEWING',
  sub_state: null,
  decision: null,
  is_decided: false,
  is_final: false,
  url: 'https://ade.example/tasks/task_story',
  state_since: AT,
  version: 3,
  revision: 3,
  digest: DIGEST,
  shape: DIGEST,
  risk: { score: 78, level: 'high' },
  priority: 50,
  author_id: 'usr_ana',
  agent_id: 'agt_support',
  submitter_id: 'usr_ana',
  team: null,
  ticket: 'SHOP-441',
  created_at: AT,
  updated_at: AT,
  closed_at: null,
  parameters: { target: 'shop', sql: 'ALTER TABLE customer DROP COLUMN legacy_token' },
  resources: [{ resource: 'database:shop', mode: 'exclusive' }],
  tags: [],
  effect: effect(),
  timeout_seconds: 3600,
  rollback: { strategy: 'none' },
  resubmission_of: null,
  warnings: [],
  next_action: { message: 'wait' },
  ...more,
});

export const vote = (voter: string, more: Partial<Vote> = {}): Vote => ({
  voter_id: voter,
  answer: 'approve',
  revision: 3,
  digest: DIGEST,
  at: AT,
  counted: true,
  withdrawn: false,
  ...more,
});

export const approval = (more: Partial<Approval> = {}): Approval => ({
  id: 'apr_story',
  reviewer_id: 'usr_me',
  status: 'PENDING',
  revision: 3,
  requested_at: AT,
  due_at: AT,
  overdue: false,
  seats: [{ owner: 'usr_marc', route: 'transfer', chain: ['usr_marc', 'usr_me'] }],
  urgency: 1,
  task: {
    id: 'task_story',
    number: 48208,
    title: 'x',
    type: 'sql.change',
    state: 'REVIEWING',
    priority: 50,
    author_id: 'usr_ana',
    risk: { score: 78, level: 'high' },
    digest: DIGEST,
  },
  ...more,
});

const FACTORS: [string, number, number, string][] = [
  ['resource_criticality', 4000, 90, 'database:shop is rated 90 of 100 in the registry'],
  ['change_magnitude', 3000, 70, 'the preview saw 2 changed and 1 removed, 1 of them irreversible'],
  ['blast_radius', 2000, 80, 'it reaches 1 resource and 7 dependents'],
  ['historical_failure_rate', 1000, 45, '2 of 31 similar tasks have failed'],
];

export const factors: Schemas['Factor'][] = FACTORS.map(([name, weight, score, sentence]) => ({
  name,
  weight_bp: weight,
  score,
  contribution_bp: weight * score,
  sentence,
}));

export const refusal = (
  status: number,
  code: string,
  title: string,
  detail: string,
  message: string,
): Refused =>
  new Refused({
    code,
    title,
    status,
    detail,
    retriable: false,
    request_id: 'req_01m7gmvn3bexj83q0xv915z47y',
    next_action: { message },
  });

export const intent: Intent = {
  task: 'task_story',
  number: 48208,
  answer: 'approve',
  revision: 3,
  digest: DIGEST,
  reason: undefined,
  key: 'story',
};

export const decision = (outcome: Outcome = NONE, bar?: string): Decision => ({
  outcome,
  bar,
  approveBar: bar,
  ask: () => undefined,
  dialog: null,
});

const LEVELS = ['low', 'medium', 'high', 'critical'] as const;
const TITLES = [
  'Publish the docs site',
  'Rotate the Stripe webhook secret',
  'Scale checkout from 6 to 24 replicas',
  'שינוי של עמודה בטבלת הלקוחות',
  'Deploy 🚀 to every region 🌍',
  'Move the customer addresses of every region to the table that the new checkout reads, ' +
    'in batches of five hundred',
  'docs only \u202egnp.xcod\u202c\u200b',
];

export const row = (index: number): Row => ({
  key: `row-${index}`,
  approval: `apr_${index}`,
  task: `task_${index}`,
  number: 48000 + index,
  title: TITLES[index % TITLES.length]!,
  type: 'deploy.scale',
  level: LEVELS[index % 4]!,
  score: [8, 41, 78, 92][index % 4]!,
  state: 'REVIEWING',
  detail: null,
  revision: 1,
  author: 'usr_ana',
  dueAt: AT,
  since: AT,
  isOverdue: index % 9 === 0,
  isForOthers: false,
  place: 1,
  answer: 'PENDING',
});
