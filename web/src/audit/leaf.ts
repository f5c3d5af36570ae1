// What a leaf of the audit says, as a sentence. Pure; also for the review of a task.
import type { Schemas } from '@/api/client';

export interface Leaf {
  readonly who?: {
    readonly kind?: string;
    readonly user?: string;
    readonly agent?: string;
    readonly on_behalf_of?: string;
    readonly worker?: string;
  };
  readonly what?: {
    readonly object?: string;
    readonly action?: string;
    readonly from?: string | null;
    readonly to?: string | null;
    readonly revision?: number | null;
    readonly digest?: string | null;
  };
  readonly when?: string;
  readonly where?: {
    readonly address?: string | null;
    readonly user_agent?: string | null;
    readonly service?: string | null;
  };
  readonly why?: { readonly reason?: string | null; readonly ticket?: string | null };
}

export interface Entry {
  readonly key: string;
  readonly hash: string;
  readonly leaf: Leaf;
}

export function entryOf({ id, hash, leaf }: Schemas['AuditLeaf']): Entry {
  return { key: id, hash, leaf: leaf as Leaf };
}

type NameOf = (id: string) => string;

export function actorOf(who: Leaf['who'], nameOf: NameOf): string {
  const id = who?.agent ?? who?.user;
  if (id) return nameOf(id);
  return who?.worker ? 'The server' : (who?.kind ?? 'somebody');
}

/** `{}` is where the object stands. */
const VERBS: Record<string, string> = {
  'after_review.close': 'closed the review after {}',
  'after_review.overdue': 'told that nobody has written {} in time',
  'agent.change': 'changed {}',
  'agent.configure': 'set {} up anew',
  'agent.create': 'registered {}',
  'agent.drain': 'told {} to drain',
  'agent.pause': 'paused {}',
  'agent.resume': 'resumed {}',
  'agent.revoke': 'revoked {}',
  'agent.roll_back_config': 'brought back an earlier configuration of {}',
  'delegation.create': 'delegated by {}',
  'delegation.end': 'ended {}',
  'flag.disable': 'switched {} off',
  'flag.enable': 'switched {} on',
  'freeze.lift': 'lifted {}',
  'freeze.set': 'froze applies with {}',
  'lock.acquire': 'took the lock on {}',
  'lock.break': 'broke the lock on {}',
  'lock.incident': 'took {} for an incident',
  'on_call.create': 'put {} on duty',
  'on_call.delete': 'took {} off duty',
  'policy.draft': 'proposed {}',
  'policy.publish': 'published {}',
  'policy.withdraw': 'withdrew {}',
  'resource.import': 'entered {}',
  'resource.put': 'entered {}',
  'risk.set': 'set how risk is rated',
  'task.amend': 'changed {}',
  'task.approve': 'approved {}',
  'task.auto_approve': 'let {} pass by policy',
  'task.begin_apply': 'began to change what {} is about',
  'task.cancel': 'cancelled {}',
  'task.comment': 'commented on {}',
  'task.confirm_override': 'confirmed the override of {}',
  'task.create': 'proposed {}',
  'task.delegate': 'handed on the request about {}',
  'task.delete': 'deleted {}',
  'task.escalate': 'escalated {}',
  'task.expire': 'let {} expire',
  'task.extend': 'gave more time to {}',
  'task.fail_apply': 'reported that {} failed',
  'task.finish_apply': 'completed {}',
  'task.open_review': 'opened the review of {}',
  'task.override': 'asked to override the quorum of {}',
  'task.reconcile': 'said what became of {}',
  'task.reject': 'rejected {}',
  'task.reopen_review': 'opened the review of {} again',
  'task.request_changes': 'asked for changes to {}',
  'task.resubmit': 'took {} up again',
  'task.retry': 'tried {} again',
  'task.start_apply': 'began to apply {}',
  'task.submit': 'handed {} in',
  'task.withdraw_vote': 'took back an answer on {}',
  'tenant.bootstrap': 'made {} the first admin',
  'token.create': 'issued {}',
  'token.revoke': 'revoked {}',
  'user.add_alias': 'joined another account to {}',
  'user.change': 'changed {}',
  'user.create': 'entered {}',
  'user.set_roles': 'set the roles of {}',
  'webhook.change': 'changed {}',
  'webhook.create': 'made {}',
  'webhook.delete': 'deleted {}',
  'webhook.disable': 'disabled {}',
  'webhook.redeliver': 'sent deliveries of {} once more',
  'webhook.rotate': 'gave {} a new secret',
};

/** What was done, around the object. An action without a phrase is told by its own name. */
export function phrase(leaf: Leaf): [before: string, after: string] {
  const action = leaf.what?.action ?? '';
  const verb = VERBS[action] ?? `did ${action || 'something'} on {}`;
  const [before = '', after = ''] = verb.split('{}').map((part) => part.trim());
  return [before, after];
}

/** What was done, on a page that is about the object anyway. */
export function phraseHere(leaf: Leaf): string {
  const [before, after] = phrase(leaf);
  const bare = before.replace(/ of$/, '');
  return [bare, bare === before ? 'it' : '', after].filter(Boolean).join(' ');
}

const KINDS: Record<string, string> = {
  apr: 'request',
  del: 'delegation',
  duty: 'duty',
  frz: 'freeze',
  hook: 'webhook',
  inb: 'source',
  pdr: 'draft',
  pol: 'policy',
  task: 'task',
};

/** Names where there are some; else the kind of thing and the end of its id. */
export function objectName(object: string, nameOf: NameOf): string {
  const [id = '', ...rest] = object.split(' ');
  if (/^(usr|agt)_/.test(id)) return nameOf(id);
  const kind = KINDS[id.split('_')[0] ?? ''];
  if (!kind || !id.includes('_')) return object;
  return [kind, `…${id.slice(-4)}`, ...rest].join(' ');
}

export type Target =
  | { readonly to: '/tasks/$id' | '/agents/$id'; readonly id: string }
  | { readonly to: '/locks'; readonly resource: string }
  | { readonly to: '/policies' | '/settings/people' };

/** The page of an object, if it has one. */
export function targetOf(object: string): Target | undefined {
  const [id = ''] = object.split(' ');
  if (id.startsWith('task_')) return { to: '/tasks/$id', id };
  if (id.startsWith('agt_')) return { to: '/agents/$id', id };
  if (/^(pol|pdr)_/.test(id)) return { to: '/policies' };
  if (id.startsWith('usr_')) return { to: '/settings/people' };
  return /^[a-z][a-z0-9_.-]*:\S+$/.test(object) ? { to: '/locks', resource: object } : undefined;
}

/** From the field of a form, in the reader's own zone, to what the server takes. */
export function instantOf(local: string): string | undefined {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

/** The other way, for the field of a form. */
export function localOf(instant: string | undefined): string {
  if (!instant) return '';
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
