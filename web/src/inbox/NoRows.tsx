import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { reviewerQuery } from '@/api/queries';
import { Empty } from '@/list/Strips';
import { clockTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import type { Tab } from './data';

const WORDS: Record<Exclude<Tab, 'needs'>, [string, string]> = {
  watching: ['No other tasks in review', 'Tasks that wait for other reviewers appear here.'],
  done: ['No decisions yet', 'Tasks that you approve or reject appear here.'],
};

function NothingNeeds() {
  const { data } = useQuery(reviewerQuery());
  const last = data?.last_action_at;
  return (
    <Empty title="Your inbox is empty">
      <p>
        {last && <>Last decision {clockTime(last).slice(0, 5)} · </>}
        <Link
          to="/inbox"
          search={{ tab: 'watching' }}
          className="text-accent underline underline-offset-2"
        >
          See tasks in review by others
        </Link>
      </p>
      <p className="mt-8 text-meta text-ink-3">With an agent token, run a command under review:</p>
      <pre
        className={classes(
          'mt-2 inline-block max-w-full rounded-control bg-sunken px-3 py-2 text-left',
          'font-mono text-meta whitespace-pre-wrap',
        )}
      >
        {'ade run --resource service:checkout \\\n  -- ./deploy.sh'}
      </pre>
    </Empty>
  );
}

export function NoRows({ tab, query, onClear }: { tab: Tab; query: string; onClear: () => void }) {
  if (query) {
    return (
      <Empty title="No matching tasks">
        <Button onClick={onClear}>Clear filter “{query}”</Button>
      </Empty>
    );
  }
  if (tab === 'needs') return <NothingNeeds />;
  const [title, says] = WORDS[tab];
  return <Empty title={title}>{says}</Empty>;
}
