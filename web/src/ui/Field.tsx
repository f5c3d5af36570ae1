import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react';
import { classes } from './classes';

const LOOK = 'rounded-control border border-line-strong bg-surface max-md:h-11';

interface Named {
  label: string;
  says?: string;
}

function Labelled({ label, says, children }: Named & { children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1.5 block font-medium">
        {label}
      </label>
      {children(id)}
      {says && <p className="mt-1 text-meta text-ink-3">{says}</p>}
    </div>
  );
}

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> & {
  onChange: (value: string) => void;
};

/** Single-line text input with its label above. */
export function Field({ label, says, onChange, className, ...more }: Named & InputProps) {
  return (
    <Labelled label={label} {...(says ? { says } : {})}>
      {(id) => (
        <input
          id={id}
          maxLength={4096}
          autoComplete="off"
          {...more}
          onChange={(event) => onChange(event.target.value)}
          className={classes(LOOK, 'h-9 w-full px-3', className)}
        />
      )}
    </Labelled>
  );
}

type Choices<T extends string> = readonly (readonly [value: T, word: string])[];

interface ChoiceProps<T extends string> {
  label: string;
  says?: string;
  value: T;
  choices: Choices<T>;
  onChange: (value: T) => void;
}

/** Select with its label above. */
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { label, says, value, choices, onChange } = props;
  return (
    <Labelled label={label} {...(says ? { says } : {})}>
      {(id) => (
        <Select
          id={id}
          value={value}
          choices={choices}
          onChange={onChange}
          className="h-9 w-full"
        />
      )}
    </Labelled>
  );
}

type SelectProps<T extends string> = Omit<
  SelectHTMLAttributes<HTMLSelectElement>,
  'value' | 'onChange'
> & { value: T; choices: Choices<T>; onChange: (value: T) => void };

export function Select<T extends string>(props: SelectProps<T>) {
  const { value, choices, onChange, className, ...more } = props;
  return (
    <select
      {...more}
      value={value}
      onChange={(event) => {
        const chosen = choices.find(([one]) => one === event.target.value);
        if (chosen) onChange(chosen[0]);
      }}
      className={classes(LOOK, 'px-2', className ?? 'h-8')}
    >
      {choices.map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  );
}

interface SearchProps {
  label: string;
  value: string;
  placeholder?: string;
  className?: string;
  onChange: (value: string) => void;
}

/** Search input that filters a list; its label is visible to screen readers only. */
export function SearchField({ label, onChange, className, ...more }: SearchProps) {
  return (
    <input
      type="search"
      aria-label={label}
      maxLength={200}
      spellCheck={false}
      {...more}
      onChange={(event) => onChange(event.target.value)}
      className={classes(LOOK, 'h-8 px-3 max-md:w-full', className ?? 'w-[200px]')}
    />
  );
}
