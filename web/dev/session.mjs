// Sessions for a page that a token speaks for: what the server will say to a browser with a cookie,
// made of what it says to the token now. Goes away once the server knows sessions.

const DAY = 86_400_000;

const refusal = (status, code, title) => ({
  type: `/docs#${code}`,
  code,
  title,
  status,
  detail: '',
  retriable: false,
  next_action: { says: 'Sign in.' },
  request_id: 'req_dev',
});

function answers(server, token) {
  const began = new Date().toISOString();
  const ends = (after) => new Date(Date.now() + after).toISOString();
  const state = { tenant: undefined, other: true };
  const whole = async () => {
    const headers = { Authorization: `Bearer ${token}` };
    const me = await (await fetch(`${server}/v1/me`, { headers })).json();
    const tenants = [
      { id: me.tenant, name: 'Shop' },
      { id: 'ten_other', name: 'Warehouse' },
    ];
    return {
      id: 'ses_this',
      user: { id: me.actor.id ?? me.actor.user ?? '', name: me.name },
      tenant: tenants.find(({ id }) => id === state.tenant) ?? tenants[0],
      tenants,
      created_at: began,
      idle_expires_at: ends(DAY / 24),
      expires_at: ends(DAY / 2),
      stepped_up_at: null,
    };
  };
  const one = (id, current, agent) => ({
    id,
    current,
    address: '127.0.0.1',
    user_agent: agent,
    created_at: began,
    last_seen_at: began,
    expires_at: ends(DAY / 2),
  });
  return {
    'GET /v1/auth': () => ({ providers: [{ name: 'company', title: 'your company account' }] }),
    'GET /v1/session': whole,
    'GET /v1/sessions': () => ({
      items: [
        one('ses_this', true, 'Chromium on a desk'),
        ...(state.other ? [one('ses_other', false, 'Safari on a phone')] : []),
      ],
    }),
    'DELETE /v1/sessions/ses_other': () => {
      state.other = false;
      return {};
    },
    'POST /v1/session/tenant': ({ tenant }) => {
      state.tenant = tenant;
      return {};
    },
    'POST /auth/logout': () => ({}),
  };
}

async function bodyOf(request) {
  let text = '';
  for await (const part of request) text += part;
  return text ? JSON.parse(text) : {};
}

/** Stands before the way to the server. */
export function sessionsOf(server, token) {
  const known = answers(server, token);
  const take = async (request, response, next) => {
    const answer = known[`${request.method} ${request.url?.split('?')[0]}`];
    if (!answer) return next();
    const tell = (status, body) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const isUnsafe = request.method !== 'GET';
    if (!token && request.url !== '/v1/auth') {
      return tell(401, refusal(401, 'unauthenticated', 'Nobody is signed in'));
    }
    if (isUnsafe && request.headers['x-ade-request'] !== '1') {
      return tell(403, refusal(403, 'not_allowed', 'This page did not send it'));
    }
    return tell(200, await answer(isUnsafe ? await bodyOf(request) : {}));
  };
  const use = ({ middlewares }) => void middlewares.use(take);
  return { name: 'sessions', configureServer: use, configurePreviewServer: use };
}
