import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { LINK } from '@/ui/look';
import { Ago } from '@/ui/Time';
import { Untrusted } from '@/ui/Untrusted';
import { ListCard, ROW } from './parts';

type Notification = Schemas['Notification'];

const SHOWN = 20;

const LABELS: Record<string, string> = {
  'task.expiring': 'Expiring soon',
  'task.expired': 'Expired',
  'task.extended': 'Review extended',
  'task.review_reopened': 'Review reopened',
  'approval.requested': 'Approval requested',
  'approval.escalated': 'No answer yet',
  'override.asked': 'Override requested',
  'override.confirmed': 'Override confirmed by two admins',
  'override.lapsed': 'Override expired without a second admin',
  'override.review_overdue': 'Override review overdue',
  'passkey.added': 'A passkey was added to your account',
  'change.proposed': 'A change to the rules was proposed',
  'user.invited': 'You were invited',
  'passkey.reset': 'The passkeys of your account were removed',
};

const recentQuery = () =>
  queryOptions({
    queryKey: ['notifications'],
    queryFn: () =>
      unwrap(api.GET('/v1/notifications', { params: { query: { page_size: SHOWN } } })),
  });

function One({ item }: { item: Notification }) {
  return (
    <li className={ROW} data-notification={item.kind}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        {LABELS[item.kind] ?? item.kind}
        <span className="block text-meta text-ink-2">
          {item.task_id ? (
            <Link to="/tasks/$id" params={{ id: item.task_id }} search={{}} className={LINK}>
              <Untrusted text={`T-${item.number} ${item.title}`} />
            </Link>
          ) : item.kind === 'change.proposed' ? (
            <Link to="/changes" className={LINK}>
              <Untrusted text={item.title} />
            </Link>
          ) : (
            <Untrusted text={item.title} />
          )}{' '}
          · <Ago at={item.at} />
        </span>
      </span>
    </li>
  );
}

/** The latest notifications of the reader: about tasks, their account and the rules. */
export function RecentNotifications() {
  const { data, error } = useQuery(recentQuery());
  return (
    <ListCard
      title="Recent notifications"
      none="There are no notifications yet."
      items={data?.items}
      error={error}
    >
      {(item) => <One key={item.id} item={item} />}
    </ListCard>
  );
}
