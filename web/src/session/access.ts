// What a person's roles allow them to read. The server decides; pages check here first, because a
// refused request adds an entry to the audit log.
import type { Me } from './session';

const READERS = {
  audit: ['admin', 'auditor'],
  webhooks: ['admin'],
  events: ['operator', 'admin'],
} as const;

export type Readable = keyof typeof READERS;

export function mayRead({ roles }: Pick<Me, 'roles'>, what: Readable): boolean {
  return READERS[what].some((role) => roles.includes(role));
}

interface Part {
  readonly author_id: string;
  readonly approvals: readonly { readonly reviewer_id: string }[];
  readonly votes: readonly { readonly voter_id: string }[];
}

/** The author of a task and everyone who was asked to review it may read its audit entries as well,
 *  also after their request was superseded. */
export function mayReadAuditOf(me: Pick<Me, 'id' | 'roles'>, part: Part): boolean {
  return (
    mayRead(me, 'audit') ||
    part.author_id === me.id ||
    part.votes.some(({ voter_id: voter }) => voter === me.id) ||
    part.approvals.some(({ reviewer_id: reviewer }) => reviewer === me.id)
  );
}
