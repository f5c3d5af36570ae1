// Describes an audit entry as a sentence. Pure; also used on the review page.
import type { Schemas } from '@/api/client';
import type { VoteMark } from '@/review/marks';

interface Credential {
  readonly kind: 'session' | 'token' | 'invitation';
  readonly key_id: string;
  readonly issued_by?: string | null;
  readonly step_up?: string | null;
}

export interface Leaf {
  readonly kind?: 'change' | 'refusal' | 'disclosure';
  /** Whether the tenant was in setup, so that the change needed no second admin. */
  readonly setup?: boolean;
  /** Reservations about the authority of the voter. */
  readonly marks?: readonly VoteMark[];
  readonly who?: {
    readonly kind?: string;
    readonly user?: string;
    readonly agent?: string;
    readonly on_behalf_of?: string;
    readonly worker?: string;
    readonly credential?: Credential | null;
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
  readonly where?: { readonly origin?: string | null; readonly service?: string | null };
  readonly why?: { readonly reason?: string | null; readonly ticket?: string | null };
}

export interface Entry {
  readonly key: string;
  readonly hash: string;
  readonly leaf: Leaf;
  /** Absent if it was erased, or if the server acted on its own. */
  readonly origin?: Schemas['AuditOrigin'] | null;
}

export function entryOf({ id, hash, leaf, origin = null }: Schemas['AuditLeaf']): Entry {
  return { key: id, hash, leaf: leaf as Leaf, origin };
}

type NameOf = (id: string) => string;

export function actorOf(who: Leaf['who'], nameOf: NameOf): string {
  const id = who?.agent ?? who?.user;
  if (id) return nameOf(id);
  return who?.worker ? 'The server' : (who?.kind ?? 'unknown actor');
}

/** Names the person who issued the token in use, unless it is the one who is responsible. */
export function tokenNote(who: Leaf['who'], nameOf: NameOf): string | undefined {
  const issuer = who?.credential?.issued_by;
  if (!issuer || issuer === (who.on_behalf_of ?? who.user)) return undefined;
  return `with a token issued by ${nameOf(issuer)}`;
}

const CREDENTIALS = { session: 'Browser session', token: 'Token', invitation: 'Invitation' };

/** Describes the key that authenticated the request. */
export function credentialOf(who: Leaf['who'], nameOf: NameOf): string | undefined {
  const { kind, key_id: key, issued_by: issuer } = who?.credential ?? {};
  if (!kind) return undefined;
  return `${CREDENTIALS[kind]} ${key}${issuer ? `, issued by ${nameOf(issuer)}` : ''}`;
}

/** Phrase of each action: past tense, base form, and the rest. `{}` marks the object. */
const VERBS: Record<string, readonly [past: string, base: string, rest: string]> = {
  'after_review.close': ['closed', 'close', 'the override review of {}'],
  'after_review.overdue': ['reported', 'report', 'that the override review of {} is overdue'],
  'agent.administer': ['administered', 'administer', 'agents'],
  'agent.change': ['changed', 'change', '{}'],
  'agent.configure': ['changed', 'change', 'the configuration of {}'],
  'agent.create': ['registered', 'register', '{}'],
  'agent.drain': ['drained', 'drain', '{}'],
  'agent.order': ['sent', 'send', 'an order to {}'],
  'agent.pause': ['paused', 'pause', '{}'],
  'agent.read_config': ['read', 'read', 'the configuration of {}'],
  'agent.resume': ['resumed', 'resume', '{}'],
  'agent.revoke': ['revoked', 'revoke', '{}'],
  'agent.roll_back_config': ['rolled', 'roll', 'back the configuration of {}'],
  'audit.read': ['read', 'read', 'the audit log'],
  'change.apply': ['applied', 'apply', '{} after its wait'],
  'change.close': ['closed', 'close', '{}'],
  'change.object': ['objected', 'object', 'to {}'],
  'change.outdate': ['closed', 'close', '{} as outdated'],
  'change.propose': ['proposed', 'propose', '{}'],
  'change.publish': ['published', 'publish', '{}'],
  'change.withdraw': ['withdrew', 'withdraw', '{}'],
  'delegation.create': ['created', 'create', 'a delegation for {}'],
  'delegation.edit': ['changed', 'change', 'a delegation'],
  'delegation.end': ['ended', 'end', '{}'],
  'device.approve': ['authorized', 'authorize', 'a terminal'],
  'device.deny': ['denied', 'deny', 'a terminal'],
  'execution.claim': ['claimed', 'claim', 'work for {}'],
  'flag.disable': ['disabled', 'disable', '{}'],
  'flag.enable': ['enabled', 'enable', '{}'],
  'freeze.lift': ['lifted', 'lift', '{}'],
  'freeze.set': ['froze', 'freeze', 'applies with {}'],
  'event_consumer.read': ['read', 'read', 'the event consumers'],
  'event_consumer.redrive': ['resent', 'resend', 'dead letters'],
  'lock.acquire': ['acquired', 'acquire', 'the lock on {}'],
  'lock.break': ['broke', 'break', 'the lock on {}'],
  'lock.incident': ['took', 'take', 'an incident lock on {}'],
  'on_call.create': ['created', 'create', '{}'],
  'on_call.delete': ['ended', 'end', '{}'],
  'on_call.edit': ['changed', 'change', 'on-call shifts'],
  'passkey.add': ['added', 'add', 'a passkey'],
  'passkey.remove': ['removed', 'remove', 'a passkey'],
  'passkey.reset': ['reset', 'reset', 'the passkeys of {}'],
  'policy.draft': ['proposed', 'propose', '{}'],
  'policy.publish': ['published', 'publish', '{}'],
  'policy.withdraw': ['withdrew', 'withdraw', '{}'],
  'resource.edit': ['changed', 'change', 'resources'],
  'resource.import': ['imported', 'import', '{}'],
  'resource.put': ['registered', 'register', '{}'],
  'risk.set': ['changed', 'change', 'the risk settings'],
  'session.begin': ['signed', 'sign', 'in'],
  'session.end': ['signed', 'sign', 'out'],
  'settings.edit': ['changed', 'change', 'settings'],
  'task.amend': ['changed', 'change', '{}'],
  'task.approve': ['approved', 'approve', '{}'],
  'task.auto_approve': ['approved', 'approve', '{} automatically'],
  'task.begin_apply': ['started', 'start', 'applying {}'],
  'task.cancel': ['cancelled', 'cancel', '{}'],
  'task.comment': ['commented', 'comment', 'on {}'],
  'task.confirm_override': ['confirmed', 'confirm', 'the override of {}'],
  'task.create': ['proposed', 'propose', '{}'],
  'task.delegate': ['delegated', 'delegate', 'the review request for {}'],
  'task.delete': ['deleted', 'delete', '{}'],
  'task.escalate': ['escalated', 'escalate', '{}'],
  'task.expire': ['expired', 'expire', '{}'],
  'task.extend': ['extended', 'extend', 'the deadline of {}'],
  'task.fail_apply': ['reported', 'report', 'that {} failed'],
  'task.finish_apply': ['completed', 'complete', '{}'],
  'task.open_review': ['opened', 'open', 'the review of {}'],
  'task.override': ['requested', 'request', 'an override of {}'],
  'task.read': ['read', 'read', '{}'],
  'task.reconcile': ['reconciled', 'reconcile', '{}'],
  'task.reject': ['rejected', 'reject', '{}'],
  'task.reopen_review': ['reopened', 'reopen', 'the review of {}'],
  'task.request_changes': ['requested', 'request', 'changes to {}'],
  'task.resubmit': ['resubmitted', 'resubmit', '{}'],
  'task.retry': ['retried', 'retry', '{}'],
  'task.start_apply': ['received', 'receive', 'the permit to apply {}'],
  'task.submit': ['submitted', 'submit', '{}'],
  'task.withdraw_vote': ['withdrew', 'withdraw', 'a vote on {}'],
  'tenant.bootstrap': ['made', 'make', '{} the first admin'],
  'tenant.end_setup': ['ended', 'end', 'the setup of the tenant'],
  'token.create': ['created', 'create', '{}'],
  'token.revoke': ['revoked', 'revoke', '{}'],
  'user.add_alias': ['linked', 'link', 'another account to {}'],
  'user.administer': ['administered', 'administer', 'people and tokens'],
  'user.change': ['changed', 'change', '{}'],
  'user.confirm': ['confirmed', 'confirm', '{}'],
  'user.create': ['added', 'add', '{}'],
  'user.set_roles': ['set', 'set', 'the roles of {}'],
  'user.verify_email': ['verified', 'verify', 'the email address of {}'],
  'webhook.administer': ['administered', 'administer', 'webhooks'],
  'webhook.change': ['changed', 'change', '{}'],
  'webhook.create': ['created', 'create', '{}'],
  'webhook.delete': ['deleted', 'delete', '{}'],
  'webhook.disable': ['disabled', 'disable', '{}'],
  'webhook.read': ['read', 'read', 'webhooks'],
  'webhook.redeliver': ['resent', 'resend', 'deliveries of {}'],
  'webhook.rotate': ['rotated', 'rotate', 'the secret of {}'],
};

/** Whether the action was refused, so that nothing was changed. */
export const isRefused = ({ kind }: Leaf): boolean => kind === 'refusal';

/** An action without a phrase is shown by its own name. */
function verbOf({ what, kind }: Leaf): string {
  const [past, base, rest] = VERBS[what?.action ?? ''] ?? [
    'performed',
    'perform',
    `${what?.action || 'something'} on {}`,
  ];
  if (kind !== 'refusal') return `${past} ${rest}`;
  // An attempt without the general permission is recorded for the tenant, which needs no name.
  const isGeneral = what?.object?.startsWith('ten_');
  const about = isGeneral ? rest.replace(/( (with|on|of|by|for))? ?\{\}/, '') : rest;
  return `was not allowed to ${base} ${about}`;
}

/** Returns the text before and after the object: what was done, or what was not allowed. */
export function phrase(leaf: Leaf): [before: string, after: string] {
  const [before = '', after = ''] = verbOf(leaf)
    .split('{}')
    .map((part) => part.trim());
  return [before, after];
}

/** Whether the phrase leaves room for the object. */
export const namesObject = (leaf: Leaf): boolean => verbOf(leaf).includes('{}');

/** Returns the phrase without the name of the object, for the page of that object. */
export function phraseHere(leaf: Leaf): string {
  const [before, after] = phrase(leaf);
  const bare = before.replace(/ of$/, '');
  return [bare, namesObject(leaf) && bare === before ? 'it' : '', after].filter(Boolean).join(' ');
}

const KINDS: Record<string, string> = {
  apr: 'review request',
  chg: 'change',
  del: 'delegation',
  duty: 'on-call shift',
  frz: 'freeze',
  hook: 'webhook',
  inb: 'source',
  pdr: 'draft',
  pol: 'policy',
  task: 'task',
};

/** Returns the name of an object; if it has none, its kind and the end of its id. */
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
  | { readonly to: '/policies' | '/changes' | '/settings/people' };

/** Returns the page of an object, if it has one. */
export function targetOf(object: string): Target | undefined {
  const [id = ''] = object.split(' ');
  if (id.startsWith('task_')) return { to: '/tasks/$id', id };
  if (id.startsWith('agt_')) return { to: '/agents/$id', id };
  if (/^(pol|pdr)_/.test(id)) return { to: '/policies' };
  if (id.startsWith('chg_')) return { to: '/changes' };
  if (id.startsWith('usr_')) return { to: '/settings/people' };
  return /^[a-z][a-z0-9_.-]*:\S+$/.test(object) ? { to: '/locks', resource: object } : undefined;
}

/** Returns whether a filter names a task, by its id or by its number. */
export function namesTask(object: string): boolean {
  return object.startsWith('task_') || /^(t-)?[1-9]\d*$/i.test(object);
}

/** Converts a form value in the reader's time zone to a server timestamp. */
export function instantOf(local: string): string | undefined {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

/** Converts a server timestamp to a form value. */
export function localOf(instant: string | undefined): string {
  if (!instant) return '';
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
