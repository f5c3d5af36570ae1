import { useWriteBar } from '@/live/react';
import { type Me, useMe } from '@/session/session';

/** A session has all scopes; what it can do depends on the roles of its user. */
export const isAdmin = ({ scopes, roles }: Me): boolean =>
  scopes.includes('administer') && roles.includes('admin');

const isOperator = ({ scopes, roles }: Me): boolean =>
  scopes.includes('operate') && ['operator', 'admin'].some((role) => roles.includes(role));

function useBar(isAllowed: (me: Me) => boolean, why: string): string | undefined {
  const bar = useWriteBar();
  return isAllowed(useMe()) ? bar : why;
}

/** Reason why the reader cannot use operator actions, if any. */
export const useOperateBar = () => useBar(isOperator, 'Only operators and admins can do this.');

/** Reason why the reader cannot use admin actions, if any. */
export const useAdminBar = () => useBar(isAdmin, 'Only admins can do this.');

/** Reason why the reader cannot control agents of this owner, if any. */
export const useOwnerBar = (owner: string) =>
  useBar((me) => me.id === owner || isAdmin(me), 'Only the owner and admins can do this.');
