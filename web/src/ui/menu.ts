import { classes } from './classes';

export const MENU =
  'z-50 min-w-[240px] rounded-card border border-line-strong bg-surface p-1 text-ink';

export const MENU_ITEM = classes(
  'flex h-8 cursor-pointer items-center gap-2.5 rounded-chip px-2 outline-none select-none',
  'data-highlighted:bg-sunken max-md:h-11',
);
