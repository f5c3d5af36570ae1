/** A way to somewhere else, in the middle of text. */
export const LINK = 'text-accent underline underline-offset-2';
