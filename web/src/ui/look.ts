/** Classes of a link inside text. */
export const LINK = 'text-accent underline underline-offset-2';
