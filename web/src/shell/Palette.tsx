import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useNeeds } from '@/inbox/data';
import { useKnownActions } from '@/keys/react';
import { classes } from '@/ui/classes';
import { Dialog } from '@/ui/Dialog';
import { Kbd } from '@/ui/Kbd';
import { Named } from '@/ui/Named';
import { RiskBars } from '@/ui/Risk';
import { spelled } from '@/ui/text';

/** Maximum number of listed tasks; typing more of the name finds others. */
const TASKS_MAX = 200;

const ITEM = classes(
  'flex min-h-9 cursor-pointer items-center gap-3 rounded-control px-3 py-1.5',
  'data-[selected=true]:bg-sunken max-md:min-h-11',
);

export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { rows } = useNeeds();
  const actions = useKnownActions().filter((action) => !action.isLocal);
  const choose = (run: () => void) => () => {
    onClose();
    run();
  };
  return (
    <Dialog isOpen onClose={onClose} title="Search and commands" size="wide" isSearch>
      <Command label="Search and commands" className="flex min-h-0 flex-col">
        <Command.Input
          autoFocus
          placeholder="Search tasks by number or title, or run a command"
          className="mx-5 my-3 h-10 rounded-control border border-line-strong bg-surface px-3"
        />
        <Command.List className="max-h-[50dvh] overflow-y-auto px-3 pb-3">
          <Command.Empty className="px-3 py-6 text-ink-3">No results.</Command.Empty>
          <Command.Group heading="Commands" className="palette-group">
            {actions.map((action) => (
              <Command.Item
                key={action.id}
                value={action.title}
                className={ITEM}
                onSelect={choose(action.run)}
              >
                <span className="flex-1">{action.title}</span>
                {action.keys[0] && <Kbd keys={action.keys[0]} />}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Waiting for you" className="palette-group">
            {rows.slice(0, TASKS_MAX).map((row) => (
              <Command.Item
                key={row.key}
                value={`T-${row.number} ${spelled(row.title)}`}
                className={ITEM}
                onSelect={choose(
                  () => void navigate({ to: '/tasks/$id', params: { id: row.task } }),
                )}
              >
                <RiskBars level={row.level} />
                <span className="font-mono text-meta text-ink-3">T-{row.number}</span>
                <span className="min-w-0 truncate">
                  <Named text={row.title} />
                </span>
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  );
}
