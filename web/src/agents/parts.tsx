import { Link } from '@tanstack/react-router';
import { Chip } from '@/ui/Chip';
import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import { loadOf, statusChip } from './health';
import type { Agent } from '@/api/queries';

export function Name({ agent }: { agent: Agent }) {
  return (
    <Link
      to="/agents/$id"
      params={{ id: agent.id }}
      className="font-medium wrap-anywhere hover:underline"
    >
      <Named text={agent.name} />
    </Link>
  );
}

export function Health({ agent }: { agent: Agent }) {
  const [sign, word, tone] = statusChip(agent);
  return (
    <Chip tone={tone} sign={sign} value={agent.status}>
      {word}
    </Chip>
  );
}

export function Load({ agent }: { agent: Agent }) {
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span aria-hidden="true" className="h-1.5 w-16 overflow-hidden rounded-full bg-line">
        <span className="block h-full bg-ink-2" style={{ width: `${loadOf(agent) * 100}%` }} />
      </span>
      <span className="text-meta text-ink-2">
        {agent.load ?? 0} of {agent.max_tasks}
      </span>
    </span>
  );
}

export function Seen({ agent }: { agent: Agent }) {
  return (
    <span className="text-meta text-ink-2">
      {agent.seen_at ? (
        <>
          <span aria-hidden="true">♥ </span>
          <Ago at={agent.seen_at} />
        </>
      ) : (
        'never seen'
      )}
    </span>
  );
}
