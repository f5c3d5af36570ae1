import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refused } from '@/api/problem';
import { codeOf, type DeviceRequest, stageOf } from './device';

const request: DeviceRequest = {
  user_code: 'BCDF-GHJK',
  client_name: 'ade on laptop',
  address: '10.0.0.7',
  address_differs: false,
  user_agent: 'ade/1',
  status: 'pending',
  created_at: '2026-11-15T10:00:00Z',
  expires_at: '2026-11-15T10:10:00Z',
};

const refused = (status: number) =>
  new Refused({
    code: 'not_found',
    title: 'Not found',
    status,
    detail: '',
    retriable: false,
    request_id: 'r',
    next_action: { message: '' },
  });

const now = Date.parse('2026-11-15T10:01:00Z');
const known = { code: 'BCDF-GHJK', request, error: null, now };

describe('device code', () => {
  it('is normalized in any notation', () => {
    for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'BCDF–GHJK'.replace('–', '-')]) {
      expect(codeOf(typed)).toBe('BCDF-GHJK');
    }
  });

  it('is invalid if incomplete or with other letters', () => {
    for (const typed of ['', 'BCDF', 'BCDF-GHJ', 'BCDF-GHJKL', 'ACDF-GHJK', 'BCDF-GHJ8']) {
      expect(codeOf(typed)).toBeUndefined();
    }
  });

  it('survives formatting and parsing', () => {
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

describe('device request', () => {
  it('is loaded once the code is complete', () => {
    expect(stageOf({ ...known, code: undefined })).toBe('typing');
    expect(stageOf({ ...known, request: undefined })).toBe('loading');
    expect(stageOf(known)).toBe('asked');
  });

  it('is gone when unknown or expired', () => {
    expect(stageOf({ ...known, request: undefined, error: refused(404) })).toBe('gone');
    expect(stageOf({ ...known, error: refused(404) })).toBe('gone');
    expect(stageOf({ ...known, now: Date.parse(request.expires_at) })).toBe('gone');
  });

  it('is not gone when the server does not respond', () => {
    expect(stageOf({ ...known, request: undefined, error: refused(503) })).toBe('failed');
    expect(stageOf({ ...known, request: undefined, error: new Error('x') })).toBe('failed');
  });

  it('shows the result even after expiry', () => {
    const later = Date.parse('2026-11-15T11:00:00Z');
    for (const status of ['approved', 'denied'] as const) {
      const said = { ...request, status };
      expect(stageOf({ ...known, request: said, now: later })).toBe(status);
      expect(stageOf({ ...known, request: said, error: refused(404) })).toBe(status);
    }
  });
});
