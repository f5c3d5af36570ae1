import { useMutation, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '@/api/client';
import { taskQuery } from '@/api/queries';
import { errorMessage } from '@/api/errorMessage';
import { shortDigest } from '@/review/effect';
import { Button } from '@/ui/Button';
import { Cancel, Dialog } from '@/ui/Dialog';
import { Named } from '@/ui/Named';
import { type Question, type Subject, useQuestion } from './ask';
import { askPasskey } from './passkey';
import { meaningOf } from './terms';

type Thing = Schemas['StepUpThing'];

/** Maximum number of listed items; the terms of a token are always listed in full. */
const SHOWN = 5;
const TERMS: readonly Subject['purpose'][] = ['create_token', 'approve_device'];

const WORDS: Record<Subject['purpose'], { title: string; button: string }> = {
  approve: { title: 'Confirm your approval', button: 'Approve with passkey' },
  override: { title: 'Confirm the override', button: 'Override with passkey' },
  publish_policy: { title: 'Confirm publishing', button: 'Publish with passkey' },
  publish_change: { title: 'Confirm publishing the change', button: 'Publish with passkey' },
  break_lock: { title: 'Confirm breaking the lock', button: 'Break with passkey' },
  add_passkey: { title: 'Confirm with an existing passkey', button: 'Use passkey' },
  remove_passkey: { title: 'Confirm removing the passkey', button: 'Remove with passkey' },
  reset_passkeys: { title: 'Confirm resetting passkeys', button: 'Reset with passkey' },
  confirm_person: { title: 'Confirm the person', button: 'Confirm with passkey' },
  create_token: { title: 'Confirm the new token', button: 'Create with passkey' },
  approve_device: { title: 'Confirm the sign-in of a terminal', button: 'Authorize with passkey' },
};

const SAYS =
  'Your passkey signs exactly this action. The confirmation is valid once, for the next five ' +
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

function One({ thing: { id, digest }, isTerm }: { thing: Thing; isTerm: boolean }) {
  const meaning = isTerm ? meaningOf(id) : undefined;
  return (
    <li className="wrap-anywhere">
      {id.startsWith('task_') ? (
        <TaskName id={id} />
      ) : (
        <span className="font-mono text-meta">{id}</span>
      )}
      {meaning && <span className="ml-2 text-ink-2">{meaning}</span>}
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
  const areTerms = TERMS.includes(subject.purpose);
  const shown = areTerms ? subject.about.length : SHOWN;
  const more = subject.about.length - shown;
  return (
    <Dialog isOpen onClose={onClose} title={title} says={SAYS}>
      <div className="grid gap-4 p-5">
        {subject.about.length > 0 && (
          <ul className="space-y-2" data-confirm={subject.purpose}>
            {subject.about.slice(0, shown).map((thing) => (
              <One key={thing.id} thing={thing} isTerm={areTerms} />
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
          <Cancel />
          <Button
            tone="primary"
            disabledReason={isAsking ? 'Waiting for your passkey.' : undefined}
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
  const { id, options } = await unwrap(api.POST('/v1/step-up', { body: subject }));
  const body = await askPasskey(options);
  await unwrap(api.POST('/v1/step-up/{id}', { params: { path: { id } }, body }));
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
      problem={give.error ? errorMessage(give.error) : undefined}
      onConfirm={() => give.mutate()}
      onClose={() => question.end(false)}
    />
  );
}

/** Shown over any page: the refused request is sent again once the passkey has confirmed it. */
export function ConfirmDialog() {
  const question = useQuestion();
  if (!question) return null;
  return <Asking key={JSON.stringify(question.subject)} question={question} />;
}
