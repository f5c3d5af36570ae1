import { afterEach, describe, expect, it, vi } from 'vitest';
import { api, unwrap } from '@/api/client';
import { Refused } from '@/api/problem';
import { first, subscribe } from './ask';
import { askPasskey, bytesOf, createPasskey, NoPasskey, textOf } from './passkey';

const subject = { purpose: 'break_lock' as const, about: [{ id: 'database:orders' }] };

function problem(more: object) {
  return {
    type: '/docs#step_up_required',
    code: 'step_up_required',
    title: 'Passkey confirmation required',
    status: 403,
    detail: '',
    retriable: false,
    next_action: { message: '' },
    request_id: 'req_1',
    ...more,
  };
}

/** Returns responses in order and records the requests. */
function server(...answers: [number, unknown][]) {
  const sent: { key: string | null; body: string }[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
    const request = input as Request;
    sent.push({ key: request.headers.get('Idempotency-Key'), body: await request.text() });
    const [status, body] = answers.shift() ?? [500, {}];
    const headers = { 'Content-Type': 'application/json' };
    return new Response(JSON.stringify(body), { status, headers });
  });
  return sent;
}

const vote = () =>
  unwrap(
    api.POST('/v1/locks/{type}/{id}/break', {
      params: {
        path: { type: 'database', id: 'orders' },
        header: { 'Idempotency-Key': 'once' },
      },
      body: { reason: 'it hangs' },
    }),
  );

const asked = problem({ step_up: subject, has_passkey: true });
const leavers: (() => void)[] = [];

/** Simulates a page that answers every confirmation with `isGiven`. */
function page(isGiven: boolean) {
  const shown: unknown[] = [];
  const look = () => {
    const question = first();
    if (!question) return;
    shown.push(question.subject);
    queueMicrotask(() => question.end(isGiven));
  };
  leavers.push(subscribe(look));
  return shown;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const leave of leavers.splice(0)) leave();
});

describe('request with passkey confirmation', () => {
  it('is sent again with the same key once confirmed', async () => {
    const sent = server([403, asked], [200, { leases: [] }]);
    const shown = page(true);
    expect(await vote()).toEqual({ leases: [] });
    expect(shown).toEqual([subject]);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[0]).toMatchObject({ key: 'once' });
  });

  it('fails with the server error if not confirmed', async () => {
    const sent = server([403, asked]);
    page(false);
    const error = await vote().catch((cause: unknown) => cause);
    expect(error instanceof Refused && error.is('step_up_required')).toBe(true);
    expect(sent).toHaveLength(1);
  });

  it('asks once, even if the confirmation is rejected', async () => {
    const sent = server([403, asked], [403, asked]);
    const shown = page(true);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
    expect([sent.length, shown.length]).toEqual([2, 1]);
  });

  it('does not ask without a passkey or a page', async () => {
    server([403, problem({ step_up: subject, has_passkey: false })]);
    const shown = page(true);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
    expect(shown).toEqual([]);
    for (const leave of leavers.splice(0)) leave();
    server([403, asked]);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
  });
});

describe('bytes', () => {
  it('survive base64url encoding', () => {
    for (const length of [0, 1, 2, 3, 64, 255]) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37) % 256);
      const text = textOf(bytes.buffer);
      expect(text).toMatch(/^[\w-]*$/);
      expect([...bytesOf(text)]).toEqual([...bytes]);
    }
    expect(textOf(Uint8Array.from([251, 255]).buffer)).toBe('-_8');
  });
});

describe('A passkey', () => {
  const options = {
    challenge: 'AAEC',
    timeout: 1000,
    rpId: 'localhost',
    allowCredentials: [{ type: 'public-key', id: '-_8' }],
    userVerification: 'required',
  };

  it('receives bytes and returns text', async () => {
    const get = vi.fn<(asked: CredentialRequestOptions) => Promise<unknown>>(async () => ({
      rawId: bytesOf('-_8').buffer,
      response: {
        clientDataJSON: bytesOf('AQ').buffer,
        authenticatorData: bytesOf('Ag').buffer,
        signature: bytesOf('Aw').buffer,
      },
    }));
    vi.stubGlobal('navigator', { credentials: { get } });
    expect(await askPasskey(options)).toEqual({
      credential: '-_8',
      client_data: 'AQ',
      authenticator_data: 'Ag',
      signature: 'Aw',
    });
    const { publicKey } = get.mock.calls[0]![0];
    expect([...new Uint8Array(publicKey!.challenge as ArrayBuffer)]).toEqual([0, 1, 2]);
    const [known] = publicKey!.allowCredentials!;
    expect([...new Uint8Array(known!.id as ArrayBuffer)]).toEqual([251, 255]);
  });

  it('explains what to do if it fails', async () => {
    const refuse = (name: string) => () => Promise.reject(Object.assign(new Error('no'), { name }));
    const create = {
      rp: { id: 'localhost', name: 'x' },
      user: { id: 'AA', name: 'x', displayName: 'x' },
      challenge: 'AA',
      pubKeyCredParams: [],
      timeout: 1,
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'discouraged', userVerification: 'required' },
      attestation: 'none',
    };
    vi.stubGlobal('navigator', { credentials: { create: refuse('InvalidStateError') } });
    await expect(createPasskey(create)).rejects.toThrow('already registered');
    vi.stubGlobal('navigator', { credentials: { get: refuse('NotAllowedError') } });
    await expect(askPasskey(options)).rejects.toThrow('unlock it');
    vi.stubGlobal('navigator', {});
    await expect(askPasskey(options)).rejects.toBeInstanceOf(NoPasskey);
  });
});
