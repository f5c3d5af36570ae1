import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pieces, spelled } from './text';

describe('untrusted text', () => {
  it('keeps visible characters of every script', () => {
    const plain = ['DROP TABLE x', 'שלום', 'мир', '漢字', 'naïve', 'a-b_c'];
    const pictures = ['👩‍👩‍👧 ok', '👩🏽‍🚀'];
    for (const text of [...plain, ...pictures]) {
      expect(spelled(text)).toBe(text);
    }
  });

  it.each([
    ['\u202egnp.xcod\u202c', '‹U+202E›gnp.xcod‹U+202C›'],
    ['pay\u200bpal', 'pay‹U+200B›pal'],
    ['a\u0000b\u001b[31m', 'a‹U+0000›b‹U+001B›[31m'],
    ['x\u2066y\u2069', 'x‹U+2066›y‹U+2069›'],
    ['soft\u00adhyphen', 'soft‹U+00AD›hyphen'],
    ['bom\ufeff', 'bom‹U+FEFF›'],
    ['tag\u{e0041}', 'tag‹U+E0041›'],
    ['no\u200dpicture', 'no‹U+200D›picture'],
    ['wide\u2003space', 'wide‹U+2003›space'],
    ['line\nbreak', 'line‹U+000A›break'],
  ])('spells out %j', (text, shown) => expect(spelled(text)).toBe(shown));

  // The server and terminal tests read the same file.
  it('renders every sample as expected', () => {
    const file = '../crates/core/samples/spoofing.json';
    const samples = JSON.parse(readFileSync(file, 'utf8')) as [string, string][];
    expect(samples.length).toBeGreaterThanOrEqual(200);
    for (const [text, shown] of samples) expect(spelled(text)).toBe(shown);
  });

  it('keeps line breaks in multi-line mode', () => {
    expect(pieces('a\nb\tc', { lines: true })).toEqual([{ text: 'a\nb\tc' }]);
  });

  it('never passes bidi, invisible or control characters', () => {
    const point = fc.oneof(fc.nat(0x2fff), fc.nat(0x10ffff));
    const wild = fc
      .array(point, { maxLength: 20 })
      .map((points) => String.fromCodePoint(...points));
    fc.assert(
      fc.property(wild, (text) => {
        const shown = spelled(text);
        expect(shown).not.toMatch(
          /[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\ufeff\u0000-\u001f]/,
        );
      }),
    );
  });
});
