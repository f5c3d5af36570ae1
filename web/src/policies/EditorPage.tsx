import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useId, useMemo, useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { Diff } from '@/review/Diff';
import { diff } from '@/review/diff';
import { useAdminBar } from '@/shell/bars';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Field } from '@/ui/Field';
import { Page } from '@/ui/Page';
import { Refusal } from '@/ui/Refusal';
import { proposed } from './publication';
import { policyQuery } from './queries';
import { WhatIf } from './WhatIf';

const route = getRouteApi('/policies/new');

const FIRST = `name: databases
match:
  resource_patterns: ["database:*"]
require:
  - roles: [reviewer]
    min: 2
respond_within: 6h
`;

function Editor({ was, isNew }: { was: string; isNew: boolean }) {
  const navigate = useNavigate();
  const bar = useAdminBar();
  const [text, setText] = useState(was);
  const [reason, setReason] = useState('');
  const area = useId();
  const lines = useMemo(
    () => diff(was.trimEnd().split('\n'), text.trimEnd().split('\n')),
    [was, text],
  );
  const hasChanged = lines.some(({ kind }) => kind !== 'same');
  const propose = useSend({
    send: (body: { document: string; reason?: string }, key) =>
      unwrap(api.POST('/v1/policies', { params: { header: { 'Idempotency-Key': key } }, body })),
    touches: 'policies',
    onDone: (draft) => {
      toast.success(proposed(draft));
      void navigate({ to: '/policies', search: {} });
    },
  });
  const disabledReason =
    bar ?? (text.trim() && (isNew || hasChanged) ? undefined : 'No changes to propose.');
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <div className="grid content-start gap-4">
        <Card title="Policy">
          <label htmlFor={area} className="sr-only">
            Policy (YAML)
          </label>
          <textarea
            id={area}
            value={text}
            spellCheck={false}
            rows={Math.min(28, Math.max(14, text.split('\n').length + 1))}
            maxLength={65_536}
            onChange={(event) => setText(event.target.value)}
            className={classes(
              'w-full rounded-control border border-line-strong bg-surface px-3 py-2',
              'font-mono text-meta',
            )}
          />
        </Card>
        <Card title="Propose">
          <form
            className="space-y-3"
            onSubmit={(event) => {
              event.preventDefault();
              const why = reason.trim();
              if (!disabledReason) propose.go({ document: text, ...(why ? { reason: why } : {}) });
            }}
          >
            <Field
              label="Reason"
              value={reason}
              placeholder="Why this change is needed"
              onChange={setReason}
            />
            <Refusal error={propose.error} />
            <div className="flex flex-wrap items-center gap-2">
              <Button type="submit" tone="primary" disabledReason={disabledReason}>
                {propose.isPending ? 'Proposing…' : 'Propose policy'}
              </Button>
              <span className="text-meta text-ink-2">
                {disabledReason ?? 'The policy takes effect after the draft is published.'}
              </span>
            </div>
          </form>
        </Card>
      </div>
      <div className="grid content-start gap-4">
        <WhatIf what={{ document: text }} />
        {hasChanged && !isNew && (
          <Card title="Changes">
            <Diff lines={lines} isSplit={false} isWhole={false} label="Changes" />
          </Card>
        )}
      </div>
    </div>
  );
}

function Earlier({ id, version }: { id: string; version: number | undefined }) {
  const { data, error } = useQuery(policyQuery(id));
  if (!data) return <CardWait error={error} />;
  const from = data.items.find((one) => one.version === version) ?? data.items[0];
  // An earlier version is compared with the current one and already differs from it.
  const isBack = from !== data.items[0];
  return <Editor was={from?.yaml ?? FIRST} isNew={isBack} />;
}

/** Editor for a policy draft, with a replay of past tasks. Proposing has no effect yet. */
export function EditorPage() {
  const { from, version } = route.useSearch();
  useTitle('Propose policy');
  return (
    <Page
      title={from ? 'Propose new version' : 'Propose policy'}
      trail={
        <Link to="/policies" search={{}} className="hover:text-ink hover:underline">
          Policies
        </Link>
      }
    >
      {from ? (
        <Earlier key={`${from} ${version}`} id={from} version={version} />
      ) : (
        <Editor was={FIRST} isNew />
      )}
    </Page>
  );
}
