import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { Refused } from '@/api/problem';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Risk } from '@/ui/Risk';
import { capabilitiesOf, type Draft } from './health';

/** Returns a concrete type for a pattern; the text that replaces `*` does not matter here. */
function sampleType(draft: Draft): string {
  return (capabilitiesOf(draft)[0] ?? 'service.restart').replaceAll('*', 'change');
}

/** Shows what the current policies require for a task of this agent. Nothing is written. */
export function Guardrails({ draft }: { draft: Draft }) {
  const [resource, setResource] = useState('service:checkout');
  const field = useId();
  const type = sampleType(draft);
  const ask = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/v1/tasks/evaluate', {
          body: {
            title: 'A sample',
            type,
            parameters: {},
            priority: 50,
            tags: [],
            timeout_seconds: 3600,
            rollback: { strategy: 'none' },
            resources: [{ resource, mode: 'exclusive' }],
            plan: {
              warnings: [],
              changes: [{ resource, action: 'change', irreversible: false, summary: 'a sample' }],
            },
          },
        }),
      ),
  });
  const { data, error } = ask;
  return (
    <div className="space-y-4">
      <p className="text-ink-2">
        Policies apply to all agents. Check what they require for a task of type{' '}
        <code className="font-mono text-meta">{type}</code>:
      </p>
      <div>
        <label htmlFor={field} className="font-medium">
          Resource
        </label>
        <div className="mt-1.5 flex gap-2">
          <input
            id={field}
            value={resource}
            spellCheck={false}
            onChange={(event) => setResource(event.target.value)}
            className={classes(
              'h-8 min-w-0 flex-1 rounded-control border border-line-strong bg-surface px-3',
              'font-mono max-md:h-11',
            )}
          />
          <Button onClick={() => !ask.isPending && ask.mutate()}>
            {ask.isPending ? 'Checking…' : 'Check policies'}
          </Button>
        </div>
      </div>
      {error && (
        <p role="alert" className="text-meta text-high">
          {error instanceof Refused ? error.problem.detail : 'No response. Try again in a moment.'}
        </p>
      )}
      {data && (
        <div role="status" className="space-y-1.5 rounded-control bg-sunken px-4 py-3">
          <Risk level={data.risk.level} score={data.risk.score} isWide />
          <p>
            {data.would_pass_without_a_person
              ? '▲ The task would be approved automatically.'
              : `Approvals needed: ${data.explanation.approvals_missing}. ` +
                `Eligible reviewers: ${data.explanation.may_answer.length}.`}
          </p>
        </div>
      )}
    </div>
  );
}
