import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { classes } from './classes';

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  says?: string;
  size?: 'normal' | 'wide' | 'drawer';
  children: ReactNode;
}

const SIZES = {
  normal: 'top-[12dvh] left-1/2 w-[min(480px,calc(100vw-24px))] -translate-x-1/2 rounded-card',
  wide: 'top-[8dvh] left-1/2 w-[min(680px,calc(100vw-24px))] -translate-x-1/2 rounded-card',
  drawer: 'top-0 right-0 h-dvh w-[min(560px,100vw)] border-y-0 border-r-0',
};

/** The shade is ours: the one of the library writes a style element, which the policy of the
 *  page refuses. */
export function Dialog({ isOpen, onClose, title, says, size = 'normal', children }: Props) {
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-shade" aria-hidden="true" />
        <Radix.Content
          {...(says ? {} : { 'aria-describedby': undefined })}
          className={classes(
            'fixed z-50 flex max-h-[84dvh] flex-col border border-line-strong bg-surface',
            'text-ink outline-none',
            size === 'drawer' && 'max-h-dvh',
            SIZES[size],
          )}
        >
          <header className="flex items-start justify-between gap-4 border-b border-line px-5 py-4">
            <div className="min-w-0">
              <Radix.Title className="text-title font-semibold">{title}</Radix.Title>
              {says && <Radix.Description className="mt-1 text-ink-2">{says}</Radix.Description>}
            </div>
            <Radix.Close
              aria-label="Close"
              className={classes(
                '-mr-2 flex size-8 items-center justify-center rounded-control text-ink-2',
                'hover:bg-sunken max-md:size-11',
              )}
            >
              <span aria-hidden="true">✕</span>
            </Radix.Close>
          </header>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
