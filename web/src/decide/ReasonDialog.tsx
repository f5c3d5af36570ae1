import { useId, useState } from 'react';
import type { Task } from '@/api/queries';
import { Button } from '@/ui/Button';
import { Cancel, Dialog } from '@/ui/Dialog';
import type { Answer } from './outcome';

const REASON_MAX = 4096;

const WORDS: Record<Answer, { title: string; says: string; button: string; label: string }> = {
  approve: {
    title: 'Approve a critical task',
    says: 'This task is critical. Type the name of the changed resource to confirm.',
    button: 'Approve',
    label: 'Why do you approve? (optional)',
  },
  reject: {
    title: 'Reject',
    says: 'The author sees your reason. The task is rejected once enough reviewers reject it.',
    button: 'Reject',
    label: 'Why do you reject?',
  },
  request_changes: {
    title: 'Request changes',
    says: 'The author sees your request and can submit a new revision.',
    button: 'Request changes',
    label: 'What should change',
  },
};

interface Props {
  answer: Answer;
  task: Task;
  onClose: () => void;
  onSend: (reason: string | undefined) => void;
}

export function ReasonDialog({ answer, task, onClose, onSend }: Props) {
  const words = WORDS[answer];
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [reasonField, nameField] = [useId(), useId()];
  const wanted = answer === 'approve' ? task.resources[0]?.resource : undefined;
  const isNamed = wanted === undefined || typed.trim() === wanted;
  const isSaid = answer === 'approve' || reason.trim() !== '';
  const disabledReason = !isSaid
    ? 'Enter a reason.'
    : !isNamed
      ? `Type ${wanted} to confirm.`
      : undefined;
  const send = () => {
    if (!disabledReason) onSend(reason.trim() || undefined);
  };
  const field = 'mt-1.5 w-full rounded-control border border-line-strong bg-surface px-3 py-2';
  return (
    <Dialog isOpen onClose={onClose} title={`${words.title} T-${task.number}`} says={words.says}>
      <form
        className="grid gap-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) send();
        }}
      >
        {wanted && (
          <div>
            <label htmlFor={nameField} className="font-medium">
              Type <code className="font-mono">{wanted}</code>
            </label>
            <input
              id={nameField}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              autoComplete="off"
              spellCheck={false}
              className={`${field} font-mono`}
            />
          </div>
        )}
        <div>
          <label htmlFor={reasonField} className="font-medium">
            {words.label}
          </label>
          <textarea
            id={reasonField}
            value={reason}
            rows={3}
            maxLength={REASON_MAX}
            onChange={(event) => setReason(event.target.value)}
            className={field}
          />
        </div>
        <div className="flex justify-end gap-2">
          <Cancel />
          <Button
            type="submit"
            tone={answer === 'approve' ? 'primary' : 'danger'}
            disabledReason={disabledReason}
            keys="$mod+Enter"
          >
            {answer === 'request_changes' ? words.button : `${words.button} rev ${task.revision}`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
