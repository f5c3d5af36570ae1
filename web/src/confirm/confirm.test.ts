import { afterEach, describe, expect, it, vi } from 'vitest';
import { api, taken } from '@/api/client';
import { Refused } from '@/api/problem';
import { first, subscribe } from './ask';
import { askPasskey, bytesOf, createPasskey, NoPasskey, textOf } from './passkey';

const subject = { purpose: 'break_lock' as const, about: [{ id: 'database:orders' }] };

function problem(more: object) {
  return {
    type: '/docs#step_up_required',
    code: 'step_up_required',
    title: 'Your passkey has to confirm this',
    status: 403,
    detail: '',
    retriable: false,
    next_action: { says: '' },
    request_id: 'req_1',
    ...more,
  };
}

/** Answers in turn, and keeps what was asked. */
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
  taken(
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

/** A page that answers each question so. */
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

describe('A call that needs a passkey', () => {
  it('goes out again under the same key once the passkey has given its word', async () => {
    const sent = server([403, asked], [200, { leases: [] }]);
    const shown = page(true);
    expect(await vote()).toEqual({ leases: [] });
    expect(shown).toEqual([subject]);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[0]).toMatchObject({ key: 'once' });
  });

  it('is refused as the server said if the reader does not confirm it', async () => {
    const sent = server([403, asked]);
    page(false);
    const error = await vote().catch((cause: unknown) => cause);
    expect(error instanceof Refused && error.is('step_up_required')).toBe(true);
    expect(sent).toHaveLength(1);
  });

  it('is asked for once, and not again if the word was not enough', async () => {
    const sent = server([403, asked], [403, asked]);
    const shown = page(true);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
    expect([sent.length, shown.length]).toEqual([2, 1]);
  });

  it('is not asked for where there is no passkey, or no page to ask on', async () => {
    server([403, problem({ step_up: subject, has_passkey: false })]);
    const shown = page(true);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
    expect(shown).toEqual([]);
    for (const leave of leavers.splice(0)) leave();
    server([403, asked]);
    await expect(vote()).rejects.toBeInstanceOf(Refused);
  });
});

describe('Bytes', () => {
  it('come back from their text as they were', () => {
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

  it('is asked in bytes and answers in text', async () => {
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

  it('that does not answer says what to do', async () => {
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
    await expect(createPasskey(create)).rejects.toThrow('one of yours already');
    vi.stubGlobal('navigator', { credentials: { get: refuse('NotAllowedError') } });
    await expect(askPasskey(options)).rejects.toThrow('unlock it');
    vi.stubGlobal('navigator', {});
    await expect(askPasskey(options)).rejects.toBeInstanceOf(NoPasskey);
  });
});
