import { useWriteBar } from '@/live/react';
import { type Me, useMe } from '@/session/session';

/** A session may ask for anything; what it is given goes by the roles of its person. */
export const isAdmin = ({ scopes, roles }: Me): boolean =>
  scopes.includes('administer') && roles.includes('admin');

const isOperator = ({ scopes, roles }: Me): boolean =>
  scopes.includes('operate') && ['operator', 'admin'].some((role) => roles.includes(role));

function useBar(isAllowed: (me: Me) => boolean, why: string): string | undefined {
  const bar = useWriteBar();
  return isAllowed(useMe()) ? bar : why;
}

/** Why the reader cannot operate now, if so. */
export const useOperateBar = () => useBar(isOperator, 'Only operators and admins may do this.');

/** Why the reader cannot administer now, if so. */
export const useAdminBar = () => useBar(isAdmin, 'Only admins may do this.');

/** Why the reader cannot say what this person's agents do, if so. */
export const useOwnerBar = (owner: string) =>
  useBar((me) => me.id === owner || isAdmin(me), 'Only its owner and admins may do this.');
