import { useWriteBar } from '@/live/react';
import { useMe } from '@/session/session';

/** Why the reader cannot operate now, if so. */
export function useOperateBar(): string | undefined {
  const me = useMe();
  const bar = useWriteBar();
  return me.scopes.includes('operate') ? bar : 'Only operators and admins may do this.';
}

/** Why the reader cannot administer now, if so. */
export function useAdminBar(): string | undefined {
  const me = useMe();
  const bar = useWriteBar();
  return me.scopes.includes('administer') ? bar : 'Only admins may do this.';
}
