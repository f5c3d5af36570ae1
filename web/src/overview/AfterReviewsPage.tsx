import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, everyPage, type Schemas, unwrap } from '@/api/client';
import { useSend } from '@/api/useSend';
import { useWriteBar } from '@/live/react';
import { FormCard, ListCard, ROW } from '@/settings/parts';
import { useTitle } from '@/shell/useTitle';
import { Button } from '@/ui/Button';
import { Chip } from '@/ui/Chip';
import { Field } from '@/ui/Field';
import { Named } from '@/ui/Named';
import { Page } from '@/ui/Page';
import { Ago, Due } from '@/ui/Time';

type AfterReview = Schemas['AfterReview'];

const owedQuery = () =>
  queryOptions({
    queryKey: ['after-reviews'],
    queryFn: async () =>
      (await everyPage((query) => unwrap(api.GET('/v1/after-reviews', { params: { query } }))))
        .items,
  });

function Finding({ review, onDone }: { review: AfterReview; onDone: () => void }) {
  const bar = useWriteBar();
  const [finding, setFinding] = useState('');
  const close = useSend({
    send: (text: string, key) =>
      unwrap(
        api.POST('/v1/after-reviews/{id}/close', {
          params: { path: { id: review.id }, header: { 'Idempotency-Key': key } },
          body: { finding: text },
        }),
      ),
    touches: 'after-reviews',
    onDone,
  });
  return (
    <FormCard
      title={`T-${review.number}: was the override justified?`}
      word="Close review"
      busy="Recording…"
      isPending={close.isPending}
      disabledReason={bar ?? (finding.trim() ? undefined : 'Enter a finding.')}
      error={close.error}
      onSend={() => close.go(finding.trim())}
    >
      <div className="col-span-full">
        <Field label="Finding" value={finding} onChange={setFinding} />
      </div>
    </FormCard>
  );
}

function One({ review, onChoose }: { review: AfterReview; onChoose: () => void }) {
  return (
    <li className={ROW} data-owed={review.id}>
      <span className="min-w-0 flex-1 wrap-anywhere">
        <Link
          to="/tasks/$id"
          params={{ id: review.task_id }}
          search={{}}
          className="font-medium underline"
        >
          T-{review.number}
        </Link>{' '}
        <Named text={review.title} />
        <span className="block text-meta text-ink-2">
          overridden <Ago at={review.opened_at} />
        </span>
      </span>
      {review.overdue ? (
        <Chip tone="bad" sign="▲">
          Overdue
        </Chip>
      ) : (
        <span className="text-meta text-ink-2">
          due in <Due at={review.due_at} />
        </span>
      )}
      <Button onClick={onChoose}>Close review…</Button>
    </li>
  );
}

/** Lists overridden tasks, which must be reviewed after the fact. */
export function AfterReviewsPage() {
  const { data, error } = useQuery(owedQuery());
  const [chosen, setChosen] = useState<string>();
  useTitle('Override reviews');
  const review = data?.find(({ id }) => id === chosen);
  return (
    <Page title="Override reviews">
      <ListCard
        title="Open reviews"
        none="No override is waiting for a review."
        items={data}
        error={error}
      >
        {(one) => <One key={one.id} review={one} onChoose={() => setChosen(one.id)} />}
      </ListCard>
      {review && <Finding key={review.id} review={review} onDone={() => setChosen(undefined)} />}
    </Page>
  );
}
