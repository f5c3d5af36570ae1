import { expect, it } from 'vitest';
import { mayRead, mayReadAuditOf } from './access';

const as = (...roles: string[]) => ({ id: 'usr_1', roles });

it('audit, webhooks and events are read by the roles that the server lets read them', () => {
  const readers = (what: 'audit' | 'webhooks' | 'events') =>
    ['author', 'reviewer', 'operator', 'auditor', 'admin'].filter((role) =>
      mayRead(as(role), what),
    );
  expect(readers('audit')).toEqual(['auditor', 'admin']);
  expect(readers('webhooks')).toEqual(['admin']);
  expect(readers('events')).toEqual(['operator', 'admin']);
});

it('the audit of a task is read by those who have a part in it', () => {
  const none = { author_id: 'usr_2', approvals: [], votes: [] };
  const asked = (status: string) => ({ ...none, approvals: [{ reviewer_id: 'usr_1', status }] });
  expect(mayReadAuditOf(as('reviewer'), none)).toBe(false);
  expect(mayReadAuditOf(as('reviewer'), asked('SUPERSEDED'))).toBe(true);
  expect(mayReadAuditOf(as('reviewer'), asked('PENDING'))).toBe(true);
  expect(mayReadAuditOf(as('author'), { ...none, author_id: 'usr_1' })).toBe(true);
  expect(mayReadAuditOf(as('operator'), { ...none, votes: [{ voter_id: 'usr_1' }] })).toBe(true);
  expect(mayReadAuditOf(as('auditor'), none)).toBe(true);
});
