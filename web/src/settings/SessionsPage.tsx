import { useQuery } from '@tanstack/react-query';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { sessionsQuery } from '@/session/queries';
import { type OneSession, revokeSession } from '@/session/wire';
import { useTitle } from '@/shell/useTitle';
import { Chip } from '@/ui/Chip';
import { Sure } from '@/ui/Sure';
import { Ago, Due } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { ListCard, ROW } from './parts';

function One({ session }: { session: OneSession }) {
  const bar = useWriteBar();
  const revoke = useSend({ send: (id: string) => revokeSession(id), touches: 'session' });
  return (
    <li className={ROW} data-session={session.id}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <Untrusted text={session.user_agent ?? 'Unknown browser'} />
        <span className="block text-meta text-ink-2">
          {session.address && (
            <>
              <span className="font-mono">{session.address}</span> ·{' '}
            </>
          )}
          signed in <Ago at={session.created_at} /> · last seen <Ago at={session.last_seen_at} />
        </span>
        <span className="block text-meta text-ink-2">
          ends in <Due at={session.expires_at} />
        </span>
      </span>
      {session.current ? (
        <Chip tone="good" sign="●">
          This session
        </Chip>
      ) : (
        <Sure
          word="End session"
          again="Confirm: end session"
          disabledReason={bar ?? revoke.bar}
          onSure={() => revoke.go(session.id)}
        />
      )}
    </li>
  );
}

/** Sessions of the reader. */
export function SessionsPage() {
  const { data, error } = useQuery(sessionsQuery());
  useTitle('Sessions');
  return (
    <ListCard title="Your sessions" none="No sessions." items={data?.items} error={error}>
      {(session) => <One key={session.id} session={session} />}
    </ListCard>
  );
}
