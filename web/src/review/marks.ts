// Reservations about the authority behind a vote, in words.
import type { Schemas } from '@/api/client';

export type VoteMark = NonNullable<Schemas['Vote']['marks']>[number];

const IN_SETUP = 'it counted because the tenant was in setup';

export const MARKS: Record<VoteMark, string> = {
  unconfirmed:
    'This person joined with a link that an admin could read; no other admin has confirmed them',
  new_role: `The role was too new for a task of this risk; ${IN_SETUP}`,
  new_passkey: `The passkey was added after a reset and too new for this risk; ${IN_SETUP}`,
};
