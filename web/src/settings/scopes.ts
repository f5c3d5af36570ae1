import type { Schemas } from '@/api/client';

export type Scope = Schemas['Scope'];

/** What a token may be used for, in words. */
export const MEANS: Record<Scope, string> = {
  read: 'read',
  propose: 'propose tasks',
  execute: 'apply tasks',
  decide: 'answer requests',
  operate: 'break locks, freeze, order agents',
  administer: 'administer',
};
