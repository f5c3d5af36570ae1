import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refused } from '@/api/problem';
import { codeOf, type DeviceRequest, stageOf } from './device';

const request: DeviceRequest = {
  user_code: 'BCDF-GHJK',
  client_name: 'ade on laptop',
  address: '10.0.0.7',
  user_agent: 'ade/1',
  status: 'pending',
  created_at: '2026-11-15T10:00:00Z',
  expires_at: '2026-11-15T10:10:00Z',
};

const refused = (status: number) =>
  new Refused({
    code: 'not_found',
    title: 'There is nothing here',
    status,
    detail: '',
    retriable: false,
    request_id: 'r',
    next_action: { says: '' },
  });

const now = Date.parse('2026-11-15T10:01:00Z');
const known = { code: 'BCDF-GHJK', request, error: null, now };

describe('The code of a terminal', () => {
  it('is known however it is typed', () => {
    for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'BCDF–GHJK'.replace('–', '-')]) {
      expect(codeOf(typed)).toBe('BCDF-GHJK');
    }
  });

  it('is none while a letter is missing or is none of its letters', () => {
    for (const typed of ['', 'BCDF', 'BCDF-GHJ', 'BCDF-GHJKL', 'ACDF-GHJK', 'BCDF-GHJ8']) {
      expect(codeOf(typed)).toBeUndefined();
    }
  });

  it('is read back as it is shown', () => {
    const letter = fc.constantFrom(...'BCDFGHJKLMNPQRSTVWXZ');
    fc.assert(
      fc.property(fc.array(letter, { minLength: 8, maxLength: 8 }), (letters) => {
        const code = codeOf(letters.join('').toLowerCase());
        expect(code).toBe(`${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`);
        expect(codeOf(code ?? '')).toBe(code);
      }),
    );
  });
});

describe('A terminal that asks', () => {
  it('is looked for once its code is whole', () => {
    expect(stageOf({ ...known, code: undefined })).toBe('typing');
    expect(stageOf({ ...known, request: undefined })).toBe('loading');
    expect(stageOf(known)).toBe('asked');
  });

  it('is gone when nobody knows it, or when its time is over', () => {
    expect(stageOf({ ...known, request: undefined, error: refused(404) })).toBe('gone');
    expect(stageOf({ ...known, error: refused(404) })).toBe('gone');
    expect(stageOf({ ...known, now: Date.parse(request.expires_at) })).toBe('gone');
  });

  it('is not called gone because the server does not answer', () => {
    expect(stageOf({ ...known, request: undefined, error: refused(503) })).toBe('failed');
    expect(stageOf({ ...known, request: undefined, error: new Error('x') })).toBe('failed');
  });

  it('shows what was said, also after its time', () => {
    const later = Date.parse('2026-11-15T11:00:00Z');
    for (const status of ['approved', 'denied'] as const) {
      const said = { ...request, status };
      expect(stageOf({ ...known, request: said, now: later })).toBe(status);
      expect(stageOf({ ...known, request: said, error: refused(404) })).toBe(status);
    }
  });
});
