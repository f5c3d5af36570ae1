import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { classes } from './classes';
import { Kbd } from './Kbd';

type Tone = 'primary' | 'plain' | 'danger' | 'quiet';

const TONES: Record<Tone, string> = {
  primary: 'border-accent bg-accent text-on-accent hover:opacity-90',
  plain: 'border-line-strong bg-surface text-ink hover:bg-sunken',
  danger: 'border-danger bg-surface text-danger hover:bg-sunken',
  quiet: 'border-transparent bg-transparent text-ink-2 hover:bg-sunken hover:text-ink',
};

/** Disabled buttons are not dimmed by opacity: the label and the reason must stay readable. */
const DISABLED = 'border-line bg-sunken text-ink-3 hover:bg-sunken hover:opacity-100';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: Tone;
  size?: 'normal' | 'small';
  keys?: string | undefined;
  /** Reason why the button is disabled. A disabled button stays focusable and shows the reason. */
  disabledReason?: string | undefined;
  children: ReactNode;
}

export function Button({
  tone = 'plain',
  size = 'normal',
  keys,
  disabledReason,
  children,
  ...more
}: ButtonProps) {
  const { className, onClick, title, type = 'button', ...rest } = more;
  return (
    <button
      type={type}
      aria-disabled={disabledReason ? true : undefined}
      title={disabledReason ?? title}
      onClick={disabledReason ? (event) => event.preventDefault() : onClick}
      className={classes(
        'inline-flex shrink-0 items-center justify-center gap-2 rounded-control border font-medium',
        'whitespace-nowrap transition-[background-color,opacity] duration-100',
        size === 'small' ? 'h-7 px-2 text-meta' : 'h-8 px-3 text-body max-md:h-11',
        disabledReason ? DISABLED : TONES[tone],
        className,
      )}
      {...rest}
    >
      {children}
      {keys && <Kbd keys={keys} />}
    </button>
  );
}
