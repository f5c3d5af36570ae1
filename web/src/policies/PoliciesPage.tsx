import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useNames } from '@/api/names';
import { Empty } from '@/list/Strips';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { Chip } from '@/ui/Chip';
import { LINK } from '@/ui/look';
import { Named } from '@/ui/Named';
import { Page } from '@/ui/Page';
import { Trouble } from '@/ui/Trouble';
import { DraftCard } from './DraftCard';
import { Publishers } from './Publishers';
import { draftsQuery, policiesQuery } from './queries';

type NameOf = (id: string) => string;

function InForce({ nameOf }: { nameOf: NameOf }) {
  const { data, error, refetch } = useQuery(policiesQuery());
  if (!data) {
    return error ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <CardWait error={null} />
    );
  }
  if (data.length === 0) {
    return (
      <Empty title="No policies yet">
        Until the first policy is published, the server's default review rules apply.
      </Empty>
    );
  }
  return (
    <Card
      title="Active policies"
      aside={<span className="text-meta text-ink-3">{data.length}</span>}
    >
      <ul className="divide-y divide-line">
        {data.map((policy) => (
          <li key={policy.policy_id} className="py-2.5" data-policy={policy.name}>
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Link
                to="/policies/$id"
                params={{ id: policy.policy_id }}
                search={{}}
                className={`${LINK} font-medium`}
              >
                <Named text={policy.name} />
              </Link>
              <span className="text-ink-2">version {policy.version}</span>
              {!policy.enabled && (
                <Chip tone="quiet" sign="○">
                  Disabled
                </Chip>
              )}
            </div>
            <p className="text-meta text-ink-2">
              <Publishers version={policy} nameOf={nameOf} />
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Active policies, and drafts that are not published yet. */
export function PoliciesPage() {
  const navigate = useNavigate();
  const nameOf = useNames();
  const bar = useAdminBar();
  const { data: drafts } = useQuery(draftsQuery());
  useTitle('Policies');
  return (
    <Page
      title="Policies"
      aside={
        <Button
          tone="primary"
          disabledReason={bar}
          onClick={() => void navigate({ to: '/policies/new', search: {} })}
        >
          Propose policy
        </Button>
      }
    >
      {drafts && drafts.length > 0 && (
        <section aria-label="Waiting for a second admin" className="grid gap-3">
          <h2 className="font-semibold">Waiting for a second admin</h2>
          {drafts.map((draft) => (
            <DraftCard key={draft.id} draft={draft} nameOf={nameOf} />
          ))}
        </section>
      )}
      <InForce nameOf={nameOf} />
    </Page>
  );
}
