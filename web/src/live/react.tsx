import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { Refresher } from '@/inbox/refresh';
import { useIsSignedOut } from '@/session/expiry';
import { useNow } from '@/time/useNow';
import { Applier } from './apply';
import { Connection } from './connection';
import { type Live, type Pill, pill } from './reducer';

const Context = createContext<Connection | undefined>(undefined);

/** Provides the live connection of this tab while the user is signed in. */
export function LiveProvider({ me, children }: { me: string; children: ReactNode }) {
  const client = useQueryClient();
  const [connection] = useState(() => {
    const applier = new Applier(client, new Refresher(client, me).touch);
    return new Connection(applier.take);
  });
  useEffect(() => {
    connection.start();
    return () => connection.stop();
  }, [connection]);
  const link = useSyncExternalStore(connection.subscribe, () => connection.live.link);
  useEffect(() => {
    if (link === 'refused') void client.invalidateQueries({ queryKey: ['me'] });
  }, [link, client]);
  const isOut = useIsSignedOut();
  const wasOut = useRef(false);
  useEffect(() => {
    // No connection attempts after the session has expired; reconnects right after sign-in.
    if (wasOut.current && !isOut) connection.reconnect();
    wasOut.current = isOut;
  }, [isOut, connection]);
  return <Context value={connection}>{children}</Context>;
}

export function useConnection(): Connection {
  const connection = useContext(Context);
  if (!connection) throw new Error('outside of LiveProvider');
  return connection;
}

export interface LiveView {
  readonly live: Live;
  readonly pill: Pill;
  readonly retryAt: number | undefined;
}

export function useLive(): LiveView {
  const connection = useConnection();
  const now = useNow(1000);
  const live = useSyncExternalStore(connection.subscribe, () => connection.live);
  const isHeld = useSyncExternalStore(connection.subscribe, () => connection.isHeld);
  return { live, pill: pill(live, now.here, isHeld), retryAt: connection.retryAt };
}

const never = () => () => undefined;

/** Reason why changes are disabled at the moment, if any. */
export function useWriteBar(): string | undefined {
  const connection = useContext(Context);
  const isOff = useSyncExternalStore(
    connection?.subscribe ?? never,
    // Whether the connection is offline does not depend on the time.
    () => connection !== undefined && pill(connection.live, 0, false) === 'offline',
  );
  if (!isOff) return undefined;
  return 'The server cannot be reached. Changes are disabled until the connection is back.';
}

/** Freezes the order of lists while `isOn`. */
export function useHold(who: string, isOn: boolean): void {
  const connection = useConnection();
  useEffect(() => {
    connection.hold(who, isOn);
    return () => connection.hold(who, false);
  }, [connection, who, isOn]);
}
