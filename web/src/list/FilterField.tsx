import { useRef } from 'react';
import { terms } from '@/inbox/filter';
import { useActions } from '@/keys/react';
import { classes } from '@/ui/classes';
import { useTyped } from './useTyped';

export function FilterField({
  value,
  onChange,
}: {
  value: string;
  onChange: (query: string) => void;
}) {
  const [text, setText] = useTyped(value, onChange);
  const input = useRef<HTMLInputElement>(null);
  useActions([
    {
      id: 'filter',
      title: 'Filter',
      group: 'List',
      keys: ['/'],
      isLocal: true,
      run: () => input.current?.focus(),
    },
  ]);
  const fault = terms(text).find((term) => term.fault)?.fault;
  return (
    <div className="relative w-[270px] max-lg:w-[200px] max-md:w-full">
      <input
        ref={input}
        type="search"
        aria-label="Filter"
        aria-invalid={fault ? true : undefined}
        title={
          fault ?? 'risk:>60  level:high  type:sql.*  by:name  overdue  or words from the title'
        }
        value={text}
        maxLength={200}
        placeholder="risk:>60 type:sql.*"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') input.current?.blur();
        }}
        className={classes(
          'h-8 w-full rounded-control border border-line-strong bg-surface px-3',
          'aria-invalid:border-danger max-md:h-11',
        )}
      />
    </div>
  );
}
