// All component states as stories. Not part of the production bundle.
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterContextProvider,
} from '@tanstack/react-router';
import { MeContext } from '@/session/session';
import { me, type Story } from './common';
import { GENERAL } from './general';
import { PAGES } from './pages';
import { REVIEW } from './review';

const STORIES: readonly Story[] = [...GENERAL, ...REVIEW, ...PAGES];

/** Router for stories: links render but lead nowhere. */
const router = createRouter({
  routeTree: createRootRoute(),
  history: createMemoryHistory({ initialEntries: ['/'] }),
});

export const stories: readonly Story[] = STORIES.map(({ name, show }) => ({
  name,
  show: () => (
    <RouterContextProvider router={router as never}>
      <MeContext value={me}>{show()}</MeContext>
    </RouterContextProvider>
  ),
}));
