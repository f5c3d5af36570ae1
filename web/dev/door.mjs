// How a page reaches the server while nobody has embedded it: `/v1` goes to the server, and the
// token is put on the way. It is known to this process alone, never to the browser.

/** What the server will send with the page; tests run under it, so nothing may need more. */
export const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** The way to the server as one person; without a token nobody is signed in. */
export function proxyTo(server, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const way = { target: server, changeOrigin: false, headers };
  return { '/v1': { ...way, ws: true }, '/auth/': way };
}

/** Each port is one person: `ADE_DEV_TOKEN_4701` speaks for whoever opens port 4701. */
export function personOf(port, env) {
  return env[`ADE_DEV_TOKEN_${port}`] ?? env.ADE_DEV_TOKEN;
}
