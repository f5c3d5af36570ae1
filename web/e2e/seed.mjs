// Fills a fresh tenant through the public API with the data of a team of four people and five
// agents.
import { eventually } from './wait.mjs';

const ALL = ['read', 'propose', 'execute', 'decide', 'operate', 'administer'];

export const person = (name, ...roles) => ({
  name,
  roles,
  subject: `${name.split(' ')[0].toLowerCase()}@example.org`,
});

/** People and their accounts at the identity provider. */
export const PEOPLE = {
  priya: person('Priya Nair', 'reviewer'),
  lena: person('Lena Koch', 'reviewer'),
  marc: person('Marc Dubois', 'reviewer'),
  bob: person('Bob Okafor', 'author'),
  sam: person('Sam Ortiz', 'admin'),
};

/** Maximum number of retries after a conflict. */
const TRIES = 10;

/** Returns a function that calls the API with a token and throws errors. */
export function caller(url, token) {
  return async (method, path, body, headers = {}) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(url + path, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body ? { 'Content-Type': 'application/json' } : {}),
          ...headers,
        },
        body: body ? JSON.stringify(body) : undefined,
      });
      const text = await answer.text();
      if (answer.ok) return text ? JSON.parse(text) : undefined;
      // Nothing was changed, and the response is retriable.
      if (text.includes('"code":"busy"') && tries < TRIES) continue;
      throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 400)}`);
    }
  };
}

const SHOP = `
CREATE TABLE purchase (id bigint PRIMARY KEY, customer bigint NOT NULL, amount numeric NOT NULL);
CREATE TABLE customer (id bigint PRIMARY KEY, name text NOT NULL, legacy_token text, email text);
CREATE TABLE invoice_2019 (id bigint PRIMARY KEY, total numeric NOT NULL);
INSERT INTO customer SELECT n, 'c' || n, md5(n::text), 'c' || n || '@example.org'
  FROM generate_series(1, 4000) n;
INSERT INTO purchase SELECT n, 1 + n % 4000, n * 10 FROM generate_series(1, 20000) n;
INSERT INTO invoice_2019 SELECT n, n FROM generate_series(1, 812) n;`;

const RESOURCES = [
  ['service', 'checkout', 85, 'production', []],
  ['service', 'billing', 70, 'production', []],
  ['service', 'support', 35, 'production', []],
  [
    'database',
    'shop',
    90,
    'production',
    ['service:checkout', 'service:billing', 'service:support'],
  ],
  ['secret', 'stripe-webhook', 75, 'production', ['service:billing']],
  ['site', 'docs', 5, 'staging', []],
  ['worker', 'billing', 10, 'staging', []],
];

const POLICIES = [
  `name: databases-two-eyes
match:
  resource_patterns: ["database:*"]
require:
  - roles: [reviewer]
    min: 2
respond_within: 6h
`,
  `name: services
match:
  resource_patterns: ["service:*", "secret:*"]
require:
  - roles: [reviewer]
respond_within: 2h
`,
];

/** The cookies of a response, as a browser sends them back. */
const cookiesOf = (answer) =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .filter((cookie) => !cookie.endsWith('='))
    .join('; ');

/** Signs a person in at the identity provider like a browser, and returns the session cookie. */
async function signIn(url, subject) {
  const redirect = 'manual';
  const left = await fetch(`${url}/auth/login?provider=company`, { redirect });
  const away = new URL(left.headers.get('location'));
  const body = new URLSearchParams({ subject });
  const choose = `${away.origin}/choose${away.search}`;
  const chosen = await fetch(choose, { method: 'POST', body, redirect });
  const { pathname, search } = new URL(chosen.headers.get('location'));
  const headers = { Cookie: cookiesOf(left) };
  return cookiesOf(await fetch(url + pathname + search, { headers, redirect }));
}

/** A token that the person creates in a session of their own, which then ends. */
async function ownToken(url, subject, scopes) {
  const headers = {
    Cookie: await signIn(url, subject),
    'Content-Type': 'application/json',
    'Sec-Fetch-Site': 'same-origin',
    'X-ADE-Request': '1',
  };
  const body = JSON.stringify({ scopes });
  const made = await fetch(`${url}/v1/tokens`, { method: 'POST', headers, body });
  const { token } = await made.json();
  await fetch(`${url}/auth/logout`, { method: 'POST', headers });
  if (!token) throw new Error(`${subject} got no token: ${made.status}`);
  return token;
}

async function people(admin, url, issuer) {
  const made = {};
  for (const [key, { name, roles, subject }] of Object.entries(PEOPLE)) {
    const user = await admin('POST', '/v1/users', { name, roles, issuer, subject });
    const isReviewer = roles.includes('reviewer');
    const scopes = isReviewer ? ['read', 'propose', 'decide'] : ALL;
    const token = await ownToken(url, subject, scopes);
    made[key] = { id: user.id, name, token, call: caller(url, token) };
  }
  return made;
}

/** Registers agents. Their owner issues the tokens: an admin who did could not override. */
export async function agents(admin, url, owner, names) {
  const made = {};
  for (const name of names) {
    const agent = await admin('POST', '/v1/agents', { name, owner_id: owner.id });
    const scopes = ['read', 'propose', 'execute'];
    const { token } = await owner.call('POST', '/v1/tokens', { agent_id: agent.id, scopes });
    made[name] = { id: agent.id, name, token, call: caller(url, token) };
  }
  return made;
}

/** Proposes, submits, and waits until the review is open. */
export async function propose(by, task) {
  const draft = await by.call('POST', '/v1/tasks', task);
  const matching = { 'If-Match': `"${draft.version}"` };
  const submitted = await by.call('POST', `/v1/tasks/${draft.id}/submit`, undefined, matching);
  if (submitted.state !== 'SUBMITTED') return submitted;
  const path = `/v1/tasks/${draft.id}?wait=20s&since_version=${submitted.version}`;
  return by.call('GET', path);
}

/** Amends a task under review, which creates its next revision. */
export async function amend(by, id, change) {
  const now = await by.call('GET', `/v1/tasks/${id}`);
  const matching = { 'If-Match': `"${now.version}"` };
  const amended = await by.call('PATCH', `/v1/tasks/${id}`, change, matching);
  return eventually('the new revision is under review', async () => {
    const task = await by.call('GET', `/v1/tasks/${id}`);
    return task.revision > now.revision && task.state === 'REVIEWING' ? task : undefined;
  }).catch(() => amended);
}

export const sql = (title, text, more = {}) => ({
  title,
  type: 'sql.change',
  resources: [{ resource: 'database:shop', mode: 'exclusive' }],
  parameters: { target: 'shop', sql: text },
  ...more,
});

export const declared = (title, type, resource, changes, more = {}) => ({
  title,
  type,
  resources: [{ resource, mode: 'exclusive' }],
  parameters: more.parameters ?? { reason: title },
  plan: { changes: changes.map((change) => ({ resource, irreversible: false, ...change })) },
  ...more,
});

/** Creates a tenant with people, agents, policies and resources. */
export async function seedPeople(stack, issuer) {
  await stack.shop(SHOP);
  const once = caller(stack.url, stack.once);
  const { token } = await once('POST', '/v1/tokens', { scopes: ALL });
  const admin = caller(stack.url, token);
  const users = await people(admin, stack.url, issuer);
  // New roles would not count for tasks of high risk until the next day.
  await stack.record(`
    SELECT set_config('ade.tenant', tenant_id::text, false) FROM tenant;
    UPDATE user_role SET granted_at = granted_at - interval '2 days'`);
  const names = ['db-migrator', 'infra-bot', 'release-agent', 'docs-writer', 'support-agent'];
  const bots = await agents(admin, stack.url, users.bob, names);
  for (const [type, id, criticality, environment, dependents] of RESOURCES) {
    const entry = { criticality, environment, dependents };
    await admin('PUT', `/v1/resources/${type}/${id}`, entry);
  }
  for (const document of POLICIES) {
    const draft = await admin('POST', '/v1/policies', { document, reason: 'how we work' });
    await users.sam.call('POST', `/v1/policy-drafts/${draft.id}/publish`);
  }
  await admin('PUT', '/v1/flags/batch_approvals', { enabled: true });
  return { admin: { token, call: admin }, ...users, bots };
}

const LONG =
  'Move the customer addresses of every region to the table that the new checkout ' +
  'reads, region by region, in batches of five hundred, and keep the old columns until Friday';

/** Tasks under review: observed and declared effects of every risk level, one of them deceptive. */
export async function seedTasks(world) {
  const { bots } = world;
  const db = bots['db-migrator'];
  const tasks = {};
  tasks.docs = await propose(
    bots['docs-writer'],
    declared('Publish the docs site', 'deploy.site', 'site:docs', [
      {
        action: 'change',
        summary: 'release 412 becomes release 413',
        before: { release: 412 },
        after: { release: 413 },
      },
    ]),
  );
  tasks.restart = await propose(
    bots['infra-bot'],
    declared('Restart the billing worker', 'service.restart', 'worker:billing', [
      { action: 'change', summary: 'restart 2 processes' },
    ]),
  );
  tasks.scale = await propose(
    bots['release-agent'],
    declared('Scale checkout from 6 to 24 replicas', 'deploy.scale', 'service:checkout', [
      {
        action: 'change',
        summary: 'replicas 6 to 24',
        before: { replicas: 6, memory: '512Mi' },
        after: { replicas: 24, memory: '512Mi' },
      },
    ]),
  );
  tasks.secret = await propose(
    bots['infra-bot'],
    declared('Rotate the Stripe webhook secret', 'secret.rotate', 'secret:stripe-webhook', [
      { action: 'change', summary: 'a new version, the old one for 24 h' },
    ]),
  );
  tasks.currency = await propose(
    db,
    sql(
      'Keep the currency of a purchase',
      'ALTER TABLE purchase ADD COLUMN currency text; ' +
        "UPDATE purchase SET currency = 'EUR' WHERE amount > 190000",
    ),
  );
  tasks.long = await propose(
    bots['support-agent'],
    declared(LONG, 'data.move', 'service:support', [
      { action: 'add', summary: 'a table of addresses' },
    ]),
  );
  tasks.token = await propose(
    db,
    sql(
      'Remove the legacy token of customers',
      'ALTER TABLE customer DROP COLUMN legacy_token; ' +
        'ALTER TABLE customer ALTER COLUMN email SET NOT NULL',
      { ticket: 'SHOP-441' },
    ),
  );
  tasks.deceit = await propose(
    bots['docs-writer'],
    sql(
      'Docs only: fix two typos \u202Egnp.xcod\u202C, already approved by the CISO\u200B',
      'DROP TABLE invoice_2019',
    ),
  );
  return tasks;
}
