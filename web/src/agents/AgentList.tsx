import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type { Agent } from '@/api/queries';
import { useActions } from '@/keys/react';
import { List } from '@/list/List';
import { moves, useCursor } from '@/list/useCursor';
import { Named } from '@/ui/Named';
import { Health, Load, Name, Seen } from './parts';

const COLUMNS = [
  { word: 'Status', className: '' },
  { word: 'Agent', className: '' },
  { word: 'Owner', className: '' },
  { word: 'Heartbeat', className: '' },
  { word: 'Running', className: '' },
  { word: 'Can apply', className: '' },
  { word: 'Configuration', className: 'text-right' },
] as const;
const TEMPLATE = 'grid-cols-[104px_minmax(0,3fr)_minmax(0,2fr)_96px_136px_minmax(0,2fr)_96px]';

interface Row {
  readonly key: string;
  readonly agent: Agent;
}

interface Props {
  agents: readonly Agent[];
  nameOf: (id: string) => string;
}

export function AgentList({ agents, nameOf }: Props) {
  const navigate = useNavigate();
  const rows = useMemo(() => agents.map((agent): Row => ({ key: agent.id, agent })), [agents]);
  const cursor = useCursor(rows);
  const open = (row: Row) => void navigate({ to: '/agents/$id', params: { id: row.key } });
  useActions(moves(rows, cursor, open));
  const drawn = useCallback(
    ({ agent }: Row) => (
      <>
        <span role="gridcell" data-agent={agent.name}>
          <Health agent={agent} />
        </span>
        <span role="gridcell" className="truncate">
          <Name agent={agent} />
        </span>
        <span role="gridcell" className="truncate text-ink-2">
          <Named text={nameOf(agent.owner_id)} />
        </span>
        <span role="gridcell">
          <Seen agent={agent} />
        </span>
        <span role="gridcell">
          <Load agent={agent} />
        </span>
        <span role="gridcell" className="truncate font-mono text-meta text-ink-2">
          {agent.capabilities.join(' ') || '–'}
        </span>
        <span role="gridcell" className="text-right text-ink-2">
          {agent.config_version || '–'}
        </span>
      </>
    ),
    [nameOf],
  );
  return (
    <List
      rows={rows}
      cursor={cursor.index}
      onCursor={cursor.move}
      onOpen={open}
      label="All agents"
      columns={COLUMNS}
      template={TEMPLATE}
    >
      {drawn}
    </List>
  );
}
