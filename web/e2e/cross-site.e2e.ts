// Cross-site attacks in the browser of a signed-in user: no request of a foreign page changes or
// reads anything. Each attack runs from another site, and from another origin on the same host, to
// which the browser attaches the cookie.
import { createServer, type Server } from 'node:http';
import type { Browser, BrowserContext, Page, Request, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './browser';
import { type Company, startCompany } from './provider';
import { freePort } from './wait.mjs';

let company: Company;
let browser: Browser;
let context: BrowserContext;
/** Our own page, used for comparison. */
let own: Page;
let evil: Server;
let evilPort = 0;

/** Script that the foreign page runs; `url` is the address of our server. */
type Attack = { readonly name: string; readonly script: (url: string) => string };

const PATH = '/v1/notifications/preferences';
const BODY = JSON.stringify({ channels: {} });

function form(method: string, path: string, type: string): (url: string) => string {
  return (url) => `
    const f = document.createElement('form');
    f.method = '${method}'; f.action = '${url}${path}'; f.enctype = '${type}';
    f.target = '_blank';
    const i = document.createElement('input'); i.name = '{"a":"'; i.value = '"}'; f.append(i);
    document.body.append(f); f.submit();`;
}

function sent(options: string, path = PATH): (url: string) => string {
  return (url) => `
    try {
      const answer = await fetch('${url}${path}', ${options});
      window.read = answer.type === 'opaque' ? '' : await answer.text();
    } catch {}`;
}

function element(html: (url: string) => string): (url: string) => string {
  return (url) => `
    const d = document.createElement('div'); d.innerHTML = ${JSON.stringify(html(url))};
    document.body.append(d); await new Promise((done) => setTimeout(done, 300));
    try { window.read = d.firstElementChild.contentDocument?.body?.innerText ?? ''; } catch {}`;
}

const ATTACKS: readonly Attack[] = [
  { name: 'a form of plain text', script: form('post', PATH, 'text/plain') },
  {
    name: 'a form',
    script: form('post', '/v1/ws/tickets', 'application/x-www-form-urlencoded'),
  },
  { name: 'a form with parts', script: form('post', '/v1/delegations', 'multipart/form-data') },
  { name: 'a form that logs out', script: form('post', '/auth/logout', 'text/plain') },
  { name: 'a form that looks', script: form('get', '/auth/logout', 'text/plain') },
  {
    name: 'a call without a question',
    script: sent(`{ method: 'POST', mode: 'no-cors', credentials: 'include', body: ${q(BODY)} }`),
  },
  {
    name: 'a call that takes a ticket',
    script: sent(`{ method: 'POST', mode: 'no-cors', credentials: 'include' }`, '/v1/ws/tickets'),
  },
  { name: 'a call with JSON', script: sent(json('POST')) },
  { name: 'a call with our mark', script: sent(json('POST', `'X-ADE-Request': '1',`)) },
  { name: 'a PUT with our mark', script: sent(json('PUT', `'X-ADE-Request': '1',`)) },
  { name: 'a PATCH', script: sent(json('PATCH')) },
  {
    name: 'a DELETE with our mark',
    script: sent(json('DELETE', `'X-ADE-Request': '1',`), '/v1/sessions/all'),
  },
  {
    name: 'a look with credentials',
    script: sent(`{ credentials: 'include' }`, '/v1/session'),
  },
  {
    name: 'a look without a question',
    script: sent(`{ credentials: 'include', mode: 'no-cors' }`, '/v1/session'),
  },
  {
    name: 'a beacon',
    script: (url) => `navigator.sendBeacon('${url}${PATH}', ${q(BODY)});`,
  },
  {
    name: 'an old request object',
    script: (url) => `
      const x = new XMLHttpRequest(); x.open('POST', '${url}${PATH}'); x.withCredentials = true;
      await new Promise((done) => { x.onloadend = done; x.send(${q(BODY)}); });
      window.read = x.responseText;`,
  },
  { name: 'a picture', script: element((url) => `<img src="${url}/auth/logout">`) },
  { name: 'a frame', script: element((url) => `<iframe src="${url}/inbox"></iframe>`) },
  {
    name: 'a frame without an origin',
    script: element(
      (url) =>
        `<iframe sandbox="allow-scripts allow-forms" srcdoc="<script>fetch('${url}${PATH}',` +
        `{method:'POST',credentials:'include',mode:'no-cors'})</script>"></iframe>`,
    ),
  },
  {
    name: 'a script',
    script: (url) => `
      const s = document.createElement('script'); s.src = '${url}/v1/session';
      await new Promise((done) => { s.onload = s.onerror = done; document.body.append(s); });`,
  },
  {
    name: 'a socket',
    script: (url) => `
      const w = new WebSocket('${url.replace('http', 'ws')}/v1/ws');
      await new Promise((done) => {
        w.onmessage = (e) => { window.read = e.data; done(); }; w.onerror = w.onclose = done;
      });`,
  },
  {
    name: 'a stream of events',
    script: (url) => `
      const s = new EventSource('${url}/v1/events', { withCredentials: true });
      await new Promise((done) => {
        s.onmessage = (e) => { window.read = e.data; done(); }; s.onerror = done;
      });
      s.close();`,
  },
  {
    name: 'a link that opens us',
    script: (url) => `
      const w = window.open('${url}/auth/logout');
      await new Promise((done) => setTimeout(done, 300));
      try { window.read = w.document.body.innerText; } catch {}`,
  },
];

function q(text: string): string {
  return JSON.stringify(text);
}

function json(method: string, mark = ''): string {
  return `{ method: '${method}', credentials: 'include',
    headers: { ${mark} 'Content-Type': 'application/json' }, body: ${q(BODY)} }`;
}

beforeAll(async () => {
  company = await startCompany();
  await company.enter('ada@example.org');
  evilPort = await freePort();
  evil = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html');
    answer.end('<!doctype html><title>Win a prize</title><body>');
  });
  await new Promise<void>((done) => evil.listen(evilPort, '127.0.0.1', () => done()));
  browser = await launch();
  context = await browser.newContext();
  own = await context.newPage();
  await company.signIn(own, 'ada@example.org');
  await own.waitForURL(`${company.stack.url}/inbox`);
  // The first read of the log leaves an entry itself.
  await personState();
});

afterAll(async () => {
  await browser?.close();
  evil?.close();
  await company?.stop();
});

/** Returns the person's settings and the number of audit entries. */
async function personState(): Promise<string> {
  const seen = await own.evaluate(async (path) => {
    const [session, set] = [await fetch('/v1/session'), await fetch(path)];
    return [session.status, set.status, await set.text()];
  }, PATH);
  expect(seen.slice(0, 2)).toEqual([200, 200]);
  const headers = { Authorization: `Bearer ${company.admin}` };
  const answer = await fetch(`${company.stack.url}/v1/audit?page_size=200`, { headers });
  const { items } = (await answer.json()) as { items: { kind?: string }[] };
  return JSON.stringify([seen[2], items.length]);
}

/** Whether `page` sent the request. The person's own page stays open and reconnects its socket. */
function isAskedBy(page: Page, request: Request): boolean {
  try {
    return request.frame().page() === page;
  } catch {
    return false; // a page that is still opening, or closed
  }
}

async function attack(page: Page, script: string): Promise<string> {
  await page.evaluate(`(async () => { ${script} })()`).catch(() => undefined);
  await page.waitForTimeout(100);
  const read = await page.evaluate('window.read ?? ""');
  return String(read);
}

describe.each(['localhost', '127.0.0.1'])('a page of %s', (host) => {
  it.each(ATTACKS)('neither changes nor reads anything by $name', async ({ script }) => {
    const before = await personState();
    const page = await context.newPage();
    const taken: string[] = [];
    const onAnswer = (answer: Response) => {
      const request = answer.request();
      const isOurs = answer.url().startsWith(company.stack.url);
      if (isOurs && request.method() !== 'GET' && answer.ok() && !isAskedBy(own, request)) {
        taken.push(answer.url());
      }
    };
    context.on('response', onAnswer);
    await page.goto(`http://${host}:${evilPort}/`);
    const read = await attack(page, script(company.stack.url));
    expect(read).not.toMatch(/ada|user_|ready|"id"/);
    await page.close();
    for (const other of context.pages()) if (other !== own) await other.close();
    context.off('response', onAnswer);
    expect(taken).toEqual([]);
    expect(await personState()).toBe(before);
  });
});

it('succeeds from our own page', async () => {
  const status = await own.evaluate(async () => {
    const headers = { 'X-ADE-Request': '1' };
    return (await fetch('/v1/ws/tickets', { method: 'POST', headers })).status;
  });
  expect(status).toBe(201);
});
