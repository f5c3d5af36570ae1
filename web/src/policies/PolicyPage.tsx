import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useNames } from '@/api/names';
import { Refused } from '@/api/problem';
import { Diff } from '@/review/Diff';
import { diff } from '@/review/diff';
import { useAdminBar } from '@/shell/bars';
import { NotFound } from '@/shell/NotFound';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Select } from '@/ui/Field';
import { Page } from '@/ui/Page';
import { spelled } from '@/ui/text';
import { Trouble } from '@/ui/Trouble';
import { Publishers } from './Publishers';
import { policyQuery, type Version } from './queries';

const route = getRouteApi('/policies/$id');

const linesOf = (version: Version | undefined) => version?.yaml.trimEnd().split('\n') ?? [];

/** All versions of one policy, and the diff between any two of them. */
export function PolicyPage() {
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const nameOf = useNames();
  const bar = useAdminBar();
  const { data, error, refetch } = useQuery(policyQuery(id));
  const versions = data?.items;
  const newest = versions?.[0];
  const shown = versions?.find(({ version }) => version === search.version) ?? newest;
  const other = versions?.find(({ version }) => version === search.against);
  const lines = useMemo(
    () => diff(other ? linesOf(other) : linesOf(shown), linesOf(shown)),
    [other, shown],
  );
  useTitle(newest ? spelled(newest.name) : 'Policy');
  if (error instanceof Refused && error.is('not_found')) return <NotFound />;
  if (!versions) {
    return error ? (
      <Trouble error={error} onRetry={() => void refetch()} />
    ) : (
      <div aria-busy="true" />
    );
  }
  if (!newest || !shown) return <NotFound />;
  const set = (next: { version?: number | undefined; against?: number | undefined }) =>
    void navigate({
      to: '/policies/$id',
      params: { id },
      search: { version: search.version, against: search.against, ...next },
      replace: true,
    });
  const edit = (version: number) =>
    void navigate({ to: '/policies/new', search: { from: id, version } });
  const choices = versions.map(({ version }) => [String(version), `version ${version}`] as const);
  return (
    <Page
      title={spelled(newest.name)}
      trail={
        <Link to="/policies" search={{}} className="hover:text-ink hover:underline">
          Policies
        </Link>
      }
      aside={
        <Button tone="primary" disabledReason={bar} onClick={() => edit(newest.version)}>
          Propose version {newest.version + 1}
        </Button>
      }
    >
      <Card
        title={other ? 'Diff' : 'Document'}
        aside={
          <span className="flex flex-wrap items-center justify-end gap-2 text-meta text-ink-2">
            <Select
              aria-label="Version"
              value={String(shown.version)}
              choices={choices}
              onChange={(version) => set({ version: Number(version) })}
            />
            against
            <Select
              aria-label="Compare with"
              value={other ? String(other.version) : ''}
              choices={[['', 'nothing'], ...choices]}
              onChange={(against) => set({ against: against ? Number(against) : undefined })}
            />
          </span>
        }
      >
        <Diff lines={lines} isSplit={false} isWhole label="Policy" />
      </Card>
      <Card title="Versions">
        <ol className="divide-y divide-line">
          {versions.map((one) => (
            <li
              key={one.version}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2"
              data-version={one.version}
            >
              <strong className="font-semibold">Version {one.version}</strong>
              <span className="min-w-0 flex-1 text-meta text-ink-2 wrap-anywhere">
                <Publishers version={one} nameOf={nameOf} />
              </span>
              {one.version > 1 && (
                <Button
                  size="small"
                  tone="quiet"
                  onClick={() => set({ version: one.version, against: one.version - 1 })}
                >
                  Show changes
                </Button>
              )}
              {one !== newest && (
                <Button size="small" disabledReason={bar} onClick={() => edit(one.version)}>
                  Propose again
                </Button>
              )}
            </li>
          ))}
        </ol>
      </Card>
    </Page>
  );
}
