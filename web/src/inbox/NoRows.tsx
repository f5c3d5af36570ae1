import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { reviewerQuery } from '@/api/queries';
import { Empty } from '@/list/Strips';
import { clockTime } from '@/time/clock';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import type { Tab } from './data';

const WORDS: Record<Exclude<Tab, 'needs'>, [string, string]> = {
  watching: ['Nothing else is in review', 'Tasks that wait for others appear here.'],
  done: ['You have not answered anything yet', 'What you approve and reject appears here.'],
};

function NothingNeeds() {
  const { data } = useQuery(reviewerQuery());
  const last = data?.last_action_at;
  return (
    <Empty title="Nothing needs you">
      <p>
        {last && <>Last decision {clockTime(last).slice(0, 5)} · </>}
        <Link
          to="/inbox"
          search={{ tab: 'watching' }}
          className="text-accent underline underline-offset-2"
        >
          see what others review
        </Link>
      </p>
      <p className="mt-8 text-meta text-ink-3">
        No agent yet? Run a command of your own under review:
      </p>
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
      <Empty title="Nothing fits the filter">
        <Button onClick={onClear}>Clear “{query}”</Button>
      </Empty>
    );
  }
  if (tab === 'needs') return <NothingNeeds />;
  const [title, says] = WORDS[tab];
  return <Empty title={title}>{says}</Empty>;
}
