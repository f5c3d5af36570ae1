// Makes untrusted text safe to read. Invisible characters and characters that change the text
// direction are shown by their code point, so that the reader sees the actual content.

export type Piece = { readonly text: string } | { readonly code: string; readonly name: string };

const NAMES: Record<number, string> = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x09: 'tab',
  0x0a: 'new line',
  0x0d: 'carriage return',
  0x1b: 'escape',
  0x7f: 'delete',
  0x00ad: 'soft hyphen',
  0x061c: 'Arabic letter mark',
  0x180e: 'Mongolian vowel separator',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of embedding',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0x3164: 'Hangul filler',
  0xfeff: 'zero width no-break space',
  0xfffd: 'replacement character',
};

const HIDDEN = new RegExp(
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\u115f\\u1160\\u3164\\uffa0\\u034f\\u17b4\\u17b5' +
    '\\ufe00-\\ufe0e\\u{e0000}-\\u{e0fff}' +
    '\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000\\u2800]',
  'u',
);

/** A zero width joiner between two emoji forms one emoji and hides nothing. */
const PICTURE = /\p{Extended_Pictographic}/u;

function isJoined(characters: readonly string[], index: number): boolean {
  if (characters[index] !== '\u200d') return false;
  let before = index - 1;
  while (before >= 0 && /[\ufe0f\u{1f3fb}-\u{1f3ff}]/u.test(characters[before]!)) before--;
  const [one, other] = [characters[before], characters[index + 1]];
  return PICTURE.test(one ?? '') && PICTURE.test(other ?? '');
}

function codeOf(character: string): { code: string; name: string } {
  const point = character.codePointAt(0) ?? 0;
  const code = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
  return { code, name: NAMES[point] ?? 'invisible character' };
}

/** With `lines`, line breaks and tabs are kept. */
export function pieces(text: string, options: { lines?: boolean } = {}): Piece[] {
  const found: Piece[] = [];
  let plain = '';
  const characters = [...text];
  characters.forEach((character, index) => {
    const isKept = options.lines && (character === '\n' || character === '\t');
    if (isKept || !HIDDEN.test(character) || isJoined(characters, index)) {
      plain += character;
      return;
    }
    if (plain) found.push({ text: plain });
    plain = '';
    found.push(codeOf(character));
  });
  if (plain) found.push({ text: plain });
  return found;
}

/** Returns the result as one plain string, for accessible names and page titles. */
export function spelled(text: string): string {
  return pieces(text)
    .map((piece) => ('text' in piece ? piece.text : `‹${piece.code}›`))
    .join('');
}
