import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mixed } from './scripts';

describe('mixed scripts', () => {
  // The core tests read the same file.
  it('classifies every sample as expected', () => {
    const file = '../crates/core/samples/scripts.json';
    const samples = JSON.parse(readFileSync(file, 'utf8')) as [string, string][];
    expect(samples.filter(([, scripts]) => scripts).length).toBeGreaterThanOrEqual(20);
    expect(samples.filter(([, scripts]) => !scripts).length).toBeGreaterThanOrEqual(20);
    for (const [name, scripts] of samples)
      expect([name, mixed(name) ?? '']).toEqual([name, scripts]);
  });

  it('finds one foreign letter in any word', () => {
    const latin = fc.stringMatching(/^[a-z]{1,8}$/);
    const cyrillic = fc.stringMatching(/^[\u0430-\u044f]$/);
    fc.assert(
      fc.property(latin, cyrillic, latin, (before, letter, after) => {
        expect(mixed(`${after} ${before}${letter}${after}: x`)).toBe('Cyrillic+Latin');
        expect(mixed(`${before} ${letter}-${after}`)).toBeUndefined();
      }),
    );
  });
});
