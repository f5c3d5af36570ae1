// Every state of the catalogue for the pages there are. Outside of the production bundle.
import { MeContext } from '@/session/session';
import { me, type Story } from './common';
import { GENERAL } from './general';
import { REVIEW } from './review';

const STORIES: readonly Story[] = [...GENERAL, ...REVIEW];

export const stories: readonly Story[] = STORIES.map(({ name, show }) => ({
  name,
  show: () => <MeContext value={me}>{show()}</MeContext>,
}));
