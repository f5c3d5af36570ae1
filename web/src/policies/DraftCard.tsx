import { useState } from 'react';
import { toast } from 'sonner';
import { api, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useMe } from '@/session/session';
import { useAdminBar } from '@/shell/bars';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Changes } from '@/ui/Changes';
import { Named } from '@/ui/Named';
import { Refusal } from '@/ui/Refusal';
import { Ago } from '@/ui/Time';
import { spelled } from '@/ui/text';
import { Untrusted } from '@/ui/Untrusted';
import { outlook, publishBar } from './publication';
import type { Draft } from './queries';
import { WhatIf } from './WhatIf';

interface Props {
  draft: Draft;
  nameOf: (id: string) => string;
}

/** Draft: its changes, its effect on past tasks, and a publish button that says what happens. */
export function DraftCard({ draft, nameOf }: Props) {
  const me = useMe();
  const bar = useAdminBar();
  const [isTrying, setTrying] = useState(false);
  const at = (key: string) => ({
    params: { path: { id: draft.id }, header: { 'Idempotency-Key': key } },
  });
  const publish = useSend({
    send: (_input: string, key) => unwrap(api.POST('/v1/policy-drafts/{id}/publish', at(key))),
    touches: 'policies',
    onDone: ({ name, version }) => toast.success(`Published ${name} version ${version}`),
  });
  const withdraw = useSend({
    send: (_input: string, key) => unwrap(api.DELETE('/v1/policy-drafts/{id}', at(key))),
    touches: 'policies',
  });
  const disabledReason = bar ?? publishBar(draft, me);
  const name = spelled(draft.name);
  return (
    <Card
      title={draft.base_version ? `${name}, version ${draft.base_version + 1}` : `${name}, new`}
      aside={
        <span className="text-meta text-ink-2">
          <Named text={nameOf(draft.proposed_by)} /> · <Ago at={draft.proposed_at} />
        </span>
      }
    >
      <div className="space-y-3" data-draft={draft.id}>
        {draft.reason && (
          <p>
            “<Untrusted text={draft.reason} />”
          </p>
        )}
        <Changes changes={draft.changes} />
        <Refusal error={publish.error ?? withdraw.error} />
        <div className="flex flex-wrap items-center gap-2">
          <Button
            tone="primary"
            disabledReason={disabledReason}
            onClick={() => publish.go(draft.id)}
          >
            {publish.isPending ? 'Publishing…' : 'Publish'}
          </Button>
          <Button aria-expanded={isTrying} onClick={() => setTrying(!isTrying)}>
            Replay…
          </Button>
          <Button
            tone="quiet"
            disabledReason={bar ?? withdraw.bar}
            onClick={() => withdraw.go(draft.id)}
          >
            Withdraw
          </Button>
          <span className="text-meta text-ink-2">{disabledReason ?? outlook(draft, me)}</span>
        </div>
        {isTrying && <WhatIf what={{ draft_id: draft.id }} />}
      </div>
    </Card>
  );
}
