// The signed-in user. The server identifies them by the cookie; the browser stores nothing else.
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import type { Schemas } from '@/api/client';
import { isSignedOut } from '@/api/problem';
import { meQuery } from '@/api/queries';
import { Trouble } from '@/ui/Trouble';
import { Expired } from './Expired';
import { Login } from './Login';
import { tenantToJoin } from './wire';

export interface Me {
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly Schemas['Scope'][];
  readonly isAgent: boolean;
  /** Whether changes to the rules of the tenant take effect without a second admin. */
  readonly isInSetup: boolean;
}

const Context = createContext<Me | undefined>(undefined);

function meOf(body: Schemas['Me']): Me {
  const { kind, id } = body.actor as { kind?: string; id?: string; agent?: string };
  return {
    id: id ?? '',
    name: body.name,
    roles: body.roles,
    scopes: body.scopes,
    isAgent: kind === 'agent',
    isInSetup: body.tenant_in_setup ?? false,
  };
}

export function SessionProvider({ children }: { children: (me: Me) => ReactNode }) {
  const { data, error, refetch } = useQuery({ ...meQuery(), retry: false });
  // A member of one tenant can join another.
  if (tenantToJoin(location)) return <Login />;
  // A user who was signed in keeps the page; everyone else sees the sign-in page.
  if (!data && isSignedOut(error)) return <Login />;
  if (!data && error)
    return (
      <main>
        <Trouble error={error} onRetry={() => void refetch()} />
      </main>
    );
  if (!data) return <main aria-busy="true" />;
  const me = meOf(data);
  return (
    <Context value={me}>
      {children(me)}
      <Expired />
    </Context>
  );
}

export const MeContext = Context;

export function useMe(): Me {
  const me = useContext(Context);
  if (!me) throw new Error('outside of SessionProvider');
  return me;
}
