import type { ReactNode } from 'react';
import { MARKS } from '@/review/marks';
import { exactTime } from '@/time/clock';
import { Dialog } from '@/ui/Dialog';
import { Fact } from '@/ui/Fact';
import { Named } from '@/ui/Named';
import { spelled } from '@/ui/text';
import { Untrusted } from '@/ui/Untrusted';
import {
  actorOf,
  credentialOf,
  type Entry,
  isRefused,
  namesObject,
  objectName,
  phrase,
} from './leaf';
import { ObjectLink } from './ObjectLink';

interface Props {
  entry: Entry;
  nameOf: (id: string) => string;
  onClose: () => void;
}

const mono = (text: string): ReactNode => (
  <span className="font-mono text-meta">
    <Untrusted text={text} />
  </span>
);

/** Details of one audit entry, with the command that finds it again. */
export function LeafDrawer({ entry, nameOf, onClose }: Props) {
  const { who, what, when, where, why } = entry.leaf;
  const [before, after] = phrase(entry.leaf);
  const object = what?.object ?? '';
  const name = object && namesObject(entry.leaf) && objectName(object, nameOf);
  const isNo = isRefused(entry.leaf);
  const facts: [string, ReactNode][] = [];
  const add = (word: string, value: string | null | undefined, shown?: ReactNode) => {
    if (value) facts.push([word, shown ?? mono(value)]);
  };
  if (isNo) facts.push(['Result', 'Refused: nothing was done']);
  if (entry.leaf.setup) facts.push(['Setup', 'In setup: no second admin was needed']);
  for (const mark of entry.leaf.marks ?? []) facts.push(['Reservation', MARKS[mark]]);
  add('When', when, when && exactTime(when));
  add('Who', who?.user ?? who?.agent ?? who?.worker);
  add('For', who?.on_behalf_of, <Named text={nameOf(who?.on_behalf_of ?? '')} />);
  add('Credential', credentialOf(who, nameOf));
  add('Passkey confirmation', who?.credential?.step_up);
  add('About', object, <ObjectLink object={object} nameOf={nameOf} />);
  add('Action', what?.action);
  add('State', what?.to, `${what?.from ? `${what.from} → ` : ''}${what?.to}`);
  add('Revision', what?.revision ? String(what.revision) : undefined);
  add('Its content', what?.digest);
  add(
    isNo ? 'Why it was refused' : 'Why',
    why?.reason,
    <Untrusted text={why?.reason ?? ''} lines />,
  );
  add('Ticket', why?.ticket);
  add('From', entry.origin?.address);
  add('With', entry.origin?.user_agent);
  if (where?.origin && !entry.origin) facts.push(['From', 'Erased; only its hash remains']);
  add('Entry', entry.key);
  add('Hash', entry.hash);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={spelled([actorOf(who, nameOf), before, name, after].filter(Boolean).join(' '))}
      size="drawer"
    >
      <div className="min-h-0 flex-1 space-y-5 overflow-y-auto p-5" data-leaf={entry.key}>
        <dl>
          {facts.map(([word, value]) => (
            <Fact key={word} word={word}>
              {value}
            </Fact>
          ))}
        </dl>
        <section>
          <h3 className="mb-1.5 font-semibold">Hashed content</h3>
          <pre
            tabIndex={0}
            aria-label="Audit entry"
            className="overflow-x-auto rounded-control bg-sunken px-3 py-2 font-mono text-meta"
          >
            <Untrusted text={JSON.stringify(entry.leaf, null, 2)} lines />
          </pre>
        </section>
        {object && (
          <section>
            <h3 className="mb-1.5 font-semibold">In a terminal</h3>
            <code className="block rounded-control bg-sunken px-3 py-2 font-mono text-meta">
              ade audit list --object <Untrusted text={object} />
            </code>
          </section>
        )}
      </div>
    </Dialog>
  );
}
