import { afterEach, describe, expect, it, vi } from 'vitest';
import { Refused } from '@/api/problem';
import { endsSoon } from './expiry';
import { loginPath, problemOf, readSession, switchTenant, tenantToJoin } from './wire';

const answer = (status: number, body: unknown) =>
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => {
    const headers = { 'Content-Type': 'application/json' };
    return new Response(JSON.stringify(body), { status, headers });
  });

afterEach(() => vi.restoreAllMocks());

const session = {
  id: 'ses_1',
  user: { id: 'usr_1', name: 'Priya Nair' },
  tenant: { id: 'ten_1', name: 'Shop' },
  tenants: [{ id: 'ten_1', name: 'Shop' }],
  created_at: '2026-11-14T14:00:00Z',
  idle_expires_at: '2026-11-14T15:00:00Z',
  expires_at: '2026-11-15T02:00:00Z',
};

describe('A session', () => {
  it('throws the error of the server', async () => {
    const problem = { code: 'unauthenticated', title: 'Authentication required', status: 401 };
    const more = { detail: '', retriable: false, request_id: 'r', next_action: { message: '' } };
    answer(401, { ...problem, ...more });
    await expect(readSession()).rejects.toBeInstanceOf(Refused);
  });

  it('sends the header that other sites cannot send', async () => {
    const sent = answer(200, {});
    await switchTenant('ten_2');
    const request = sent.mock.calls[0]![0] as Request;
    expect(request.headers.get('X-ADE-Request')).toBe('1');
    expect(request.headers.get('Content-Type')).toContain('json');
    expect(await request.json()).toEqual({ tenant_id: 'ten_2' });
  });

  it('starts with a provider and returns to the same page', () => {
    expect(loginPath('okta', '/tasks?q=a&b')).toBe(
      '/auth/login?provider=okta&return_to=%2Ftasks%3Fq%3Da%26b',
    );
  });

  it('joins a tenant only from the link that names it', () => {
    expect(loginPath('okta', '/inbox', 'a & b')).toMatch(/&tenant=a\+%26\+b$/);
    const at = (pathname: string, search: string) => tenantToJoin({ pathname, search });
    expect(at('/sign-in', '?tenant=a+%26+b')).toBe('a & b');
    expect(at('/sign-in', '?tenant=')).toBeUndefined();
    expect(at('/inbox', '?tenant=shop')).toBeUndefined();
    expect(problemOf({ pathname: '/sign-in', search: '?tenant=shop' })).toBeUndefined();
  });

  it('explains a failed sign-in without text from the address', () => {
    const at = (search: string) => problemOf({ pathname: '/sign-in', search });
    expect(at('?problem=no_tenant')).toMatch(/no account/);
    expect(at('?problem=<b>pay%20here</b>')).toBe(at(''));
    expect(at('?problem=constructor')).toBe(at(''));
    expect(problemOf({ pathname: '/inbox', search: '?problem=no_tenant' })).toBeUndefined();
  });

  it('warns only shortly before expiry', () => {
    const now = Date.parse('2026-11-15T01:58:00Z');
    expect(endsSoon(session.expires_at, now)).toBe(120_000);
    expect(endsSoon(session.expires_at, now - 3_600_000)).toBeUndefined();
    expect(endsSoon(session.expires_at, now + 3_600_000)).toBeUndefined();
  });
});
