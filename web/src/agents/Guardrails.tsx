import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { api, taken } from '@/api/client';
import { Refused } from '@/api/problem';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Risk } from '@/ui/Risk';
import { capabilitiesOf, type Draft } from './health';

/** A type of its own kind to try: what `*` stands for does not matter here. */
function sampleType(draft: Draft): string {
  return (capabilitiesOf(draft)[0] ?? 'service.restart').replaceAll('*', 'change');
}

/** What the rules of now would say to a task of such an agent. Nothing is written. */
export function Guardrails({ draft }: { draft: Draft }) {
  const [resource, setResource] = useState('service:checkout');
  const field = useId();
  const type = sampleType(draft);
  const ask = useMutation({
    mutationFn: () =>
      taken(
        api.POST('/v1/simulate', {
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
        Policies hold for every agent alike. Try what they would say to a task of type{' '}
        <code className="font-mono text-meta">{type}</code>:
      </p>
      <div>
        <label htmlFor={field} className="font-medium">
          On which resource
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
            {ask.isPending ? 'Asking…' : 'Try it'}
          </Button>
        </div>
      </div>
      {error && (
        <p role="alert" className="text-meta text-high">
          {error instanceof Refused
            ? error.problem.detail
            : 'No answer came. Try again in a moment.'}
        </p>
      )}
      {data && (
        <div role="status" className="space-y-1.5 rounded-control bg-sunken px-4 py-3">
          <Risk level={data.risk.level} score={data.risk.score} isWide />
          <p>
            {data.would_pass_without_a_person
              ? '▲ It would pass without a person.'
              : `It would wait for ${data.explanation.approvals_missing} of ` +
                `${data.explanation.may_answer.length} people.`}
          </p>
        </div>
      )}
    </div>
  );
}
