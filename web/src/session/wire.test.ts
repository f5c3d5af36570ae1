import { afterEach, describe, expect, it, vi } from 'vitest';
import { Refused } from '@/api/problem';
import { endsSoon } from './expiry';
import { loginPath, problemOf, readSession, switchTenant } from './wire';

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
  it('is refused in the words of the server', async () => {
    const problem = { code: 'unauthenticated', title: 'Nobody is signed in', status: 401 };
    const more = { detail: '', retriable: false, request_id: 'r', next_action: { says: '' } };
    answer(401, { ...problem, ...more });
    await expect(readSession()).rejects.toBeInstanceOf(Refused);
  });

  it('is changed only with the header that another page cannot send', async () => {
    const sent = answer(200, {});
    await switchTenant('ten_2');
    const request = sent.mock.calls[0]![0] as Request;
    expect(request.headers.get('X-ADE-Request')).toBe('1');
    expect(request.headers.get('Content-Type')).toContain('json');
    expect(await request.json()).toEqual({ tenant: 'ten_2' });
  });

  it('begins with a provider and comes back to where it began', () => {
    expect(loginPath('okta', '/tasks?q=a&b')).toBe(
      '/auth/login?provider=okta&return_to=%2Ftasks%3Fq%3Da%26b',
    );
  });

  it('does not begin without a word why, in words that an address cannot choose', () => {
    const at = (search: string) => problemOf({ pathname: '/sign-in', search });
    expect(at('?problem=no_tenant')).toMatch(/no account/);
    expect(at('?problem=<b>pay%20here</b>')).toBe(at(''));
    expect(at('?problem=constructor')).toBe(at(''));
    expect(problemOf({ pathname: '/inbox', search: '?problem=no_tenant' })).toBeUndefined();
  });

  it('is worth a word only shortly before its end', () => {
    const now = Date.parse('2026-11-15T01:58:00Z');
    expect(endsSoon(session.expires_at, now)).toBe(120_000);
    expect(endsSoon(session.expires_at, now - 3_600_000)).toBeUndefined();
    expect(endsSoon(session.expires_at, now + 3_600_000)).toBeUndefined();
  });
});
