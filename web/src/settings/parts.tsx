import type { FormEvent, ReactNode } from 'react';
import { Button } from '@/ui/Button';
import { Card, CardWait } from '@/ui/Card';
import { Refusal } from '@/ui/Refusal';

/** Splits at spaces and commas and removes duplicates. */
export function wordsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

export const tries = (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`);

interface ListProps<T> {
  title: string;
  none: string;
  items: readonly T[] | undefined;
  error: unknown;
  aside?: ReactNode;
  children: (item: T) => ReactNode;
}

/** Card with one row per item; if loading fails, it shows the server's error. */
export function ListCard<T>({ title, none, items, error, aside, children }: ListProps<T>) {
  return (
    <Card title={title} aside={aside}>
      {!items ? (
        error ? (
          <Refusal error={error} />
        ) : (
          <CardWait error={null} />
        )
      ) : items.length === 0 ? (
        <p className="text-ink-2">{none}</p>
      ) : (
        <ul className="divide-y divide-line">{items.map(children)}</ul>
      )}
    </Card>
  );
}

interface FormProps {
  title: string;
  word: string;
  busy: string;
  isPending: boolean;
  disabledReason?: string | undefined;
  error: unknown;
  onSend: () => void;
  children: ReactNode;
}

/** Card with a form; shows why it is disabled or why the request failed. */
export function FormCard(props: FormProps) {
  const { title, word, busy, isPending, disabledReason, error, onSend, children } = props;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!disabledReason && !isPending) onSend();
  };
  return (
    <Card title={title}>
      <form className="space-y-3" onSubmit={submit}>
        <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">{children}</div>
        <Refusal error={error} />
        <div className="flex flex-wrap items-center gap-2">
          <Button type="submit" tone="primary" disabledReason={disabledReason}>
            {isPending ? busy : word}
          </Button>
          {disabledReason && <span className="text-meta text-ink-2">{disabledReason}</span>}
        </div>
      </form>
    </Card>
  );
}

interface CheckProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

export function Check({ label, isOn, onChange }: CheckProps) {
  return (
    <label className="flex min-h-6 items-center gap-2 max-md:min-h-11">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
        className="size-4 accent-accent"
      />
      {label}
    </label>
  );
}

export const ROW = 'flex flex-wrap items-center gap-x-3 gap-y-1 py-2.5';
