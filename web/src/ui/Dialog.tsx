import { Dialog as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import { useKeysHeld } from '@/keys/react';
import { Button } from './Button';
import { classes } from './classes';

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  says?: string;
  size?: 'normal' | 'wide' | 'drawer';
  /** Whether typed text may be discarded without asking, as in a search. */
  isSearch?: boolean;
  children: ReactNode;
}

const SIZES = {
  normal: 'top-[12dvh] left-1/2 w-[min(480px,calc(100vw-24px))] -translate-x-1/2 rounded-card',
  wide: 'top-[8dvh] left-1/2 w-[min(680px,calc(100vw-24px))] -translate-x-1/2 rounded-card',
  drawer: 'top-0 right-0 h-dvh w-[min(560px,100vw)] border-y-0 border-r-0',
};

/** Fields that take text; a letter typed into one of them stays there. */
const TEXT_FIELD =
  'textarea, input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"])';
const SAFE = '[data-safe]';

/** Focuses a field, else the button that changes nothing, else the dialog itself, where keys do
 *  nothing. The ✕ never gets the focus, because a space would press it. */
function focusFirst(content: HTMLElement): void {
  const first =
    content.querySelector<HTMLElement>(TEXT_FIELD) ??
    content.querySelector<HTMLElement>('select') ??
    content.querySelector<HTMLElement>(SAFE) ??
    content;
  first.focus();
}

type Typed = HTMLInputElement | HTMLTextAreaElement;

function hasText(content: HTMLElement | null): boolean {
  const fields = content?.querySelectorAll<Typed>(TEXT_FIELD) ?? [];
  return [...fields].some(({ value }) => value.trim() !== '');
}

/** The button that closes a dialog and changes nothing. */
export function Cancel({ children = 'Cancel' }: { children?: ReactNode }) {
  return (
    <Radix.Close asChild>
      <Button data-safe>{children}</Button>
    </Radix.Close>
  );
}

function Discard({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <div
      role="alert"
      data-discard
      className={classes(
        'flex flex-wrap items-center justify-end gap-2 border-t border-line',
        'bg-medium-soft px-5 py-3 text-medium',
      )}
    >
      <p className="flex-1 font-semibold">Discard what you typed?</p>
      <Button autoFocus onClick={onKeep}>
        Keep editing
      </Button>
      <Button tone="danger" onClick={onDiscard}>
        Discard
      </Button>
    </div>
  );
}

/** Draws its own backdrop, because that of the library inserts a style element, which the Content
 *  Security Policy blocks. */
export function Dialog(props: Props) {
  const { isOpen, onClose, title, says, size = 'normal', isSearch = false, children } = props;
  const content = useRef<HTMLDivElement>(null);
  const hasTyped = useRef(false);
  const [isAsking, setAsking] = useState(false);
  useKeysHeld(isOpen);
  const close = () => {
    hasTyped.current = false;
    setAsking(false);
    onClose();
  };
  const askToClose = () => {
    if (!isSearch && hasTyped.current && hasText(content.current)) setAsking(true);
    else close();
  };
  const keep = () => {
    setAsking(false);
    if (content.current) focusFirst(content.current);
  };
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && askToClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-shade" aria-hidden="true" />
        <Radix.Content
          ref={content}
          {...(says ? {} : { 'aria-describedby': undefined })}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            if (content.current) focusFirst(content.current);
          }}
          onEscapeKeyDown={(event) => {
            if (!isAsking) return;
            event.preventDefault();
            keep();
          }}
          onInput={() => {
            hasTyped.current = true;
          }}
          className={classes(
            'fixed z-50 flex max-h-[84dvh] flex-col border border-line-strong bg-surface',
            'text-ink outline-none',
            size === 'drawer' && 'max-h-dvh',
            SIZES[size],
          )}
        >
          <header className="border-b border-line py-4 pr-14 pl-5">
            <Radix.Title className="text-title font-semibold">{title}</Radix.Title>
            {says && <Radix.Description className="mt-1 text-ink-2">{says}</Radix.Description>}
          </header>
          {children}
          {isAsking && <Discard onKeep={keep} onDiscard={close} />}
          <Radix.Close
            aria-label="Close"
            className={classes(
              'absolute top-3.5 right-3 flex size-8 items-center justify-center rounded-control',
              'text-ink-2 hover:bg-sunken max-md:top-2 max-md:size-11',
            )}
          >
            <span aria-hidden="true">✕</span>
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
