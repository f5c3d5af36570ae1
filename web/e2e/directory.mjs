// Test identity provider: the user chooses an account without a password. The protocol is the usual
// one: a code, its proof of possession, a signed token.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';

const CLIENT = 'ade';
const STYLE = `
:root { color-scheme: light dark; --line: #d9d6ce; --paper: #f6f5f1; --card: #fff; --ink: #1b1e22 }
@media (prefers-color-scheme: dark) {
  :root { --line: #2c3238; --paper: #111417; --card: #181c20; --ink: #e9ebed } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper);
  color: var(--ink); font: 14px/20px system-ui, sans-serif }
main { width: 340px; padding: 32px; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card) }
h1 { font-size: 20px; line-height: 28px; margin: 0 0 20px }
button { display: block; width: 100%; margin: 8px 0 0; padding: 10px 12px; text-align: left;
  border: 1px solid var(--line); border-radius: 6px; background: none; color: inherit;
  font: inherit; cursor: pointer }
small { display: block; opacity: .75 }`;

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function page(people, query) {
  const one = ({ subject, name, roles }) =>
    `<button name="subject" value="${subject}">${name}<small>${roles.join(', ')}</small></button>`;
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Who are you?</title>` +
    `<meta name="viewport" content="width=device-width"><style>${STYLE}</style>` +
    `<main><h1>Who are you?</h1><form method="post" action="/choose?${query}">` +
    `${people.map(one).join('')}</form></main></html>`
  );
}

async function formOf(request) {
  let text = '';
  for await (const part of request) text += part;
  return new URLSearchParams(text);
}

/** `people` are offered on the page; any other subject is accepted too. */
export async function startDirectory(people) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'only', alg: 'ES256', use: 'sig' };
  const codes = new Map();
  let issuer = '';

  const tokenFor = ({ subject, nonce }) => {
    const now = Math.floor(Date.now() / 1000);
    const { name } = people.find((one) => one.subject === subject) ?? { name: subject };
    const claims = { iss: issuer, aud: CLIENT, sub: subject, name, nonce, iat: now, exp: now + 60 };
    const text = `${encoded({ alg: 'ES256', kid: 'only', typ: 'JWT' })}.${encoded(claims)}`;
    const signature = sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };

  const answers = {
    'GET /.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    }),
    'GET /keys': () => ({ keys: [key] }),
    'GET /authorize': ({ search }) => page(people, search.slice(1).replaceAll('"', '%22')),
    'POST /choose': ({ searchParams }, form) => {
      const code = randomUUID();
      codes.set(code, { ...Object.fromEntries(searchParams), subject: form.get('subject') });
      const back = new URL(searchParams.get('redirect_uri'));
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state'));
      return back;
    },
    'POST /token': (_url, form) => {
      const asked = codes.get(form.get('code'));
      codes.delete(form.get('code'));
      const proof = createHash('sha256').update(form.get('code_verifier')).digest('base64url');
      if (proof !== asked?.code_challenge || form.get('redirect_uri') !== asked.redirect_uri)
        return undefined;
      return { id_token: tokenFor(asked), access_token: randomUUID(), token_type: 'Bearer' };
    },
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, issuer);
    const answer = answers[`${request.method} ${url.pathname}`];
    const form = request.method === 'POST' ? await formOf(request) : undefined;
    const body = answer?.(url, form);
    if (body instanceof URL) return response.writeHead(303, { Location: body.href }).end();
    if (typeof body === 'string')
      return response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(body);
    response.writeHead(body ? 200 : 400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'invalid_grant' }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${server.address().port}`;
  return {
    issuer,
    /** Server configuration for this provider. */
    settings: {
      ADE__AUTH__PROVIDERS__COMPANY__ISSUER: issuer,
      ADE__AUTH__PROVIDERS__COMPANY__CLIENT_ID: CLIENT,
      ADE__AUTH__PROVIDERS__COMPANY__TITLE: 'your company account',
      ADE__AUTH__PROVIDERS__COMPANY__TENANTS: 'acme,Warehouse',
      ADE__AUTH__PROVIDERS__COMPANY__ALLOW_LOOPBACK: 'true',
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
