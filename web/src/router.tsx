import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
  redirect,
  useLocation,
} from '@tanstack/react-router';
import * as z from 'zod/mini';
import { InboxPage } from './inbox/InboxPage';
import { LiveProvider } from './live/react';
import { SessionProvider, useMe } from './session/session';
import { JoinPage } from './session/JoinPage';
import { JOIN, REFUSED } from './session/wire';
import { NotFound } from './shell/NotFound';
import { Shell } from './shell/Shell';
import { STATES } from './ui/StateChip';
import { Trouble } from './ui/Trouble';

/** Search parameters may be typed by hand; invalid ones are dropped. */
const maybe = <T extends z.ZodMiniType>(kind: T) =>
  z.optional(z.catch(z.optional(kind), undefined));
const words = z.string().check(z.maxLength(200));
const InboxSearch = z.object({ tab: maybe(z.enum(['watching', 'done'])), q: maybe(words) });
const TasksSearch = z.object({ state: maybe(z.enum(STATES)), q: maybe(words) });
const ReviewSearch = z.object({ compare: maybe(z.int()) });
const LocksSearch = z.object({
  view: maybe(z.enum(['all', 'deadlocks'])),
  resource: maybe(z.string().check(z.maxLength(512), z.includes(':'))),
  q: maybe(words),
});
const AgentsSearch = z.object({ view: maybe(z.enum(['grid'])), q: maybe(words) });
const moment = z.string().check(z.maxLength(40), z.regex(/^\d{4}-\d\d-\d\dT/));
const AuditSearch = z.object({
  object: maybe(words),
  by: maybe(words),
  kind: maybe(z.enum(['change', 'refusal', 'disclosure'])),
  from: maybe(moment),
  to: maybe(moment),
  leaf: maybe(words),
});
const version = z.int().check(z.minimum(1));
const PolicySearch = z.object({ version: maybe(version), against: maybe(version) });
const EditorSearch = z.object({ from: maybe(words), version: maybe(version) });
const WizardSearch = z.object({ step: maybe(z.int().check(z.minimum(1), z.maximum(5))) });

const DeviceSearch = z.object({ code: maybe(z.string().check(z.maxLength(32))) });

/** An invitation is accepted before there is a session. */
function Root() {
  const pathname = useLocation({ select: (at) => at.pathname });
  if (pathname === JOIN) return <JoinPage />;
  return (
    <SessionProvider>
      {(me) => (
        <LiveProvider me={me.id}>
          <Shell />
        </LiveProvider>
      )}
    </SessionProvider>
  );
}

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  errorComponent: ({ error, reset }) => <Trouble error={error} onRetry={reset} />,
});

/** Start page: the inbox for reviewers, the overview for everyone else. */
function Home() {
  const { roles } = useMe();
  const is = (role: string) => roles.includes(role);
  if (is('operator') && !is('reviewer')) return <Navigate to="/overview" replace />;
  if (is('auditor') && !is('reviewer')) return <Navigate to="/audit" search={{}} replace />;
  return <Navigate to="/inbox" search={{}} replace />;
}

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: Home,
});

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: (search) => z.parse(InboxSearch, search),
  component: InboxPage,
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  component: Outlet,
});

const taskList = createRoute({
  getParentRoute: () => tasks,
  path: '/',
  validateSearch: (search) => z.parse(TasksSearch, search),
  component: lazyRouteComponent(() => import('./tasks/TasksPage'), 'TasksPage'),
});

const task = createRoute({
  getParentRoute: () => tasks,
  path: '$id',
  validateSearch: (search) => z.parse(ReviewSearch, search),
  component: lazyRouteComponent(() => import('./review/ReviewPage'), 'ReviewPage'),
});

const locks = createRoute({
  getParentRoute: () => root,
  path: '/locks',
  validateSearch: (search) => z.parse(LocksSearch, search),
  component: lazyRouteComponent(() => import('./locks/LocksPage'), 'LocksPage'),
});

const agents = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  component: Outlet,
});

const agentList = createRoute({
  getParentRoute: () => agents,
  path: '/',
  validateSearch: (search) => z.parse(AgentsSearch, search),
  component: lazyRouteComponent(() => import('./agents/AgentsPage'), 'AgentsPage'),
});

const newAgent = createRoute({
  getParentRoute: () => agents,
  path: 'new',
  validateSearch: (search) => z.parse(WizardSearch, search),
  component: lazyRouteComponent(() => import('./agents/NewAgentPage'), 'NewAgentPage'),
});

const agent = createRoute({
  getParentRoute: () => agents,
  path: '$id',
  component: lazyRouteComponent(() => import('./agents/AgentPage'), 'AgentPage'),
});

const policies = createRoute({
  getParentRoute: () => root,
  path: '/policies',
  component: Outlet,
});

const policyList = createRoute({
  getParentRoute: () => policies,
  path: '/',
  component: lazyRouteComponent(() => import('./policies/PoliciesPage'), 'PoliciesPage'),
});

const policyEditor = createRoute({
  getParentRoute: () => policies,
  path: 'new',
  validateSearch: (search) => z.parse(EditorSearch, search),
  component: lazyRouteComponent(() => import('./policies/EditorPage'), 'EditorPage'),
});

const policy = createRoute({
  getParentRoute: () => policies,
  path: '$id',
  validateSearch: (search) => z.parse(PolicySearch, search),
  component: lazyRouteComponent(() => import('./policies/PolicyPage'), 'PolicyPage'),
});

const changes = createRoute({
  getParentRoute: () => root,
  path: '/changes',
  component: lazyRouteComponent(() => import('./changes/ChangesPage'), 'ChangesPage'),
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/overview',
  component: lazyRouteComponent(() => import('./overview/OverviewPage'), 'OverviewPage'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (search) => z.parse(AuditSearch, search),
  component: lazyRouteComponent(() => import('./audit/AuditPage'), 'AuditPage'),
});

const afterReviews = createRoute({
  getParentRoute: () => root,
  path: '/after-reviews',
  component: lazyRouteComponent(() => import('./overview/AfterReviewsPage'), 'AfterReviewsPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/SettingsPage'), 'SettingsPage'),
});

const settingsHome = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/tokens' });
  },
});

const tokensSettings = createRoute({
  getParentRoute: () => settings,
  path: 'tokens',
  component: lazyRouteComponent(() => import('./settings/TokensPage'), 'TokensPage'),
});

const notificationsSettings = createRoute({
  getParentRoute: () => settings,
  path: 'notifications',
  component: lazyRouteComponent(() => import('./settings/NotificationsPage'), 'NotificationsPage'),
});

const delegationsSettings = createRoute({
  getParentRoute: () => settings,
  path: 'delegations',
  component: lazyRouteComponent(() => import('./settings/DelegationsPage'), 'DelegationsPage'),
});

const onCallSettings = createRoute({
  getParentRoute: () => settings,
  path: 'on-call',
  component: lazyRouteComponent(() => import('./settings/OnCallPage'), 'OnCallPage'),
});

const peopleSettings = createRoute({
  getParentRoute: () => settings,
  path: 'people',
  component: lazyRouteComponent(() => import('./settings/PeoplePage'), 'PeoplePage'),
});

const freezesSettings = createRoute({
  getParentRoute: () => settings,
  path: 'freezes',
  component: lazyRouteComponent(() => import('./settings/FreezesPage'), 'FreezesPage'),
});

const webhooksSettings = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks',
  component: lazyRouteComponent(() => import('./settings/WebhooksPage'), 'WebhooksPage'),
});

const eventsSettings = createRoute({
  getParentRoute: () => settings,
  path: 'events',
  component: lazyRouteComponent(() => import('./settings/EventsPage'), 'EventsPage'),
});

const sessionsSettings = createRoute({
  getParentRoute: () => settings,
  path: 'sessions',
  component: lazyRouteComponent(() => import('./settings/SessionsPage'), 'SessionsPage'),
});

const passkeysSettings = createRoute({
  getParentRoute: () => settings,
  path: 'passkeys',
  component: lazyRouteComponent(() => import('./settings/PasskeysPage'), 'PasskeysPage'),
});

const signedIn = createRoute({
  getParentRoute: () => root,
  path: '/signed-in',
  component: lazyRouteComponent(() => import('./session/SignedIn'), 'SignedIn'),
});

/** Redirects away from the failed sign-in page after a successful sign-in. */
const refused = createRoute({
  getParentRoute: () => root,
  path: REFUSED,
  // Rendered only once there is a session.
  component: () => <Navigate to="/inbox" search={{}} replace />,
});

const join = createRoute({ getParentRoute: () => root, path: JOIN });

const device = createRoute({
  getParentRoute: () => root,
  path: '/device',
  validateSearch: (search) => z.parse(DeviceSearch, search),
  component: lazyRouteComponent(() => import('./session/DevicePage'), 'DevicePage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    inbox,
    tasks.addChildren([taskList, task]),
    locks,
    agents.addChildren([agentList, newAgent, agent]),
    policies.addChildren([policyList, policyEditor, policy]),
    changes,
    audit,
    overview,
    afterReviews,
    signedIn,
    refused,
    join,
    device,
    settings.addChildren([
      settingsHome,
      tokensSettings,
      sessionsSettings,
      passkeysSettings,
      notificationsSettings,
      delegationsSettings,
      onCallSettings,
      peopleSettings,
      freezesSettings,
      webhooksSettings,
      eventsSettings,
    ]),
  ]),
  defaultPreload: 'intent',
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
