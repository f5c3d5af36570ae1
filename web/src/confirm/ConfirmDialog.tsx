import { useMutation, useQuery } from '@tanstack/react-query';
import { api, type Schemas, taken } from '@/api/client';
import { taskQuery } from '@/api/queries';
import { told } from '@/api/told';
import { shortDigest } from '@/review/effect';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Dialog';
import { Named } from '@/ui/Named';
import { type Question, type Subject, useQuestion } from './ask';
import { askPasskey } from './passkey';

type Thing = Schemas['StepUpThing'];

/** More would not be read. */
const SHOWN = 5;

const WORDS: Record<Subject['purpose'], { title: string; button: string }> = {
  approve: { title: 'Confirm your approval', button: 'Approve with passkey' },
  override: { title: 'Confirm the override', button: 'Override with passkey' },
  publish_policy: { title: 'Confirm publishing', button: 'Publish with passkey' },
  break_lock: { title: 'Confirm breaking the lock', button: 'Break with passkey' },
  add_passkey: { title: 'Confirm with a passkey of yours', button: 'Use passkey' },
  remove_passkey: { title: 'Confirm removing it', button: 'Remove with passkey' },
  reset_passkeys: { title: 'Confirm taking their passkeys', button: 'Take them with passkey' },
};

const SAYS =
  'Your passkey signs exactly this, and nothing else. It counts once, and only in the next five ' +
  'minutes.';

function TaskName({ id }: { id: string }) {
  const { data } = useQuery(taskQuery(id));
  if (!data) return <span className="font-mono text-meta">{id}</span>;
  return (
    <>
      <span className="font-mono text-ink-3">T-{data.number}</span> <Named text={data.title} />
    </>
  );
}

function One({ thing: { id, digest } }: { thing: Thing }) {
  return (
    <li className="wrap-anywhere">
      {id.startsWith('task_') ? (
        <TaskName id={id} />
      ) : (
        <span className="font-mono text-meta">{id}</span>
      )}
      {digest && (
        <span className="block font-mono text-meta text-ink-2" title={digest}>
          sha256 {shortDigest(digest)}
        </span>
      )}
    </li>
  );
}

interface LookProps {
  subject: Subject;
  isAsking: boolean;
  problem: string | undefined;
  onConfirm: () => void;
  onClose: () => void;
}

export function ConfirmLook({ subject, isAsking, problem, onConfirm, onClose }: LookProps) {
  const { title, button } = WORDS[subject.purpose];
  const more = subject.about.length - SHOWN;
  return (
    <Dialog isOpen onClose={onClose} title={title} says={SAYS}>
      <div className="grid gap-4 p-5">
        {subject.about.length > 0 && (
          <ul className="space-y-2" data-confirm={subject.purpose}>
            {subject.about.slice(0, SHOWN).map((thing) => (
              <One key={thing.id} thing={thing} />
            ))}
            {more > 0 && <li className="text-ink-2">and {more} more</li>}
          </ul>
        )}
        {problem && (
          <p role="alert" className="rounded-control border border-bad-mark px-3 py-2">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="primary"
            autoFocus
            barred={isAsking ? 'Your passkey is being asked.' : undefined}
            onClick={onConfirm}
          >
            {isAsking ? 'Waiting for your passkey…' : button}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

async function giveWord(subject: Subject): Promise<void> {
  const { id, options } = await taken(api.POST('/v1/step-up', { body: subject }));
  const body = await askPasskey(options);
  await taken(api.POST('/v1/step-up/{id}', { params: { path: { id } }, body }));
}

function Asking({ question }: { question: Question }) {
  const give = useMutation({
    mutationFn: () => giveWord(question.subject),
    onSuccess: () => question.end(true),
  });
  return (
    <ConfirmLook
      subject={question.subject}
      isAsking={give.isPending}
      problem={give.error ? told(give.error) : undefined}
      onConfirm={() => give.mutate()}
      onClose={() => question.end(false)}
    />
  );
}

/** Over whatever page asked: the call that was refused goes out again once the passkey has
 *  given its word. */
export function ConfirmDialog() {
  const question = useQuestion();
  if (!question) return null;
  return <Asking key={JSON.stringify(question.subject)} question={question} />;
}
