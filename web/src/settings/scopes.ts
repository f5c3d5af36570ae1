import type { Schemas } from '@/api/client';

export type Scope = Schemas['Scope'];

/** Descriptions of the token scopes. */
export const MEANS: Record<Scope, string> = {
  read: 'Read',
  propose: 'Propose tasks',
  execute: 'Apply tasks',
  decide: 'Approve and reject tasks',
  operate: 'Break locks, freeze applies, control agents',
  administer: 'Administer',
};
