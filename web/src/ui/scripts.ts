// Detects words that mix scripts: `prod` with a Cyrillic o looks like `prod` but is a different
// string. The rule matches the core (script.rs); both are tested against the same samples.

/** Scripts of living languages, and scripts with letters that resemble Latin ones. */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Bopomofo', 'Cherokee', 'Coptic', 'Cyrillic', 'Devanagari'],
  ...['Ethiopic', 'Georgian', 'Greek', 'Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew'],
  ...['Hiragana', 'Kannada', 'Katakana', 'Khmer', 'Lao', 'Latin', 'Lisu', 'Malayalam', 'Myanmar'],
  ...['Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
].map((name) => ({ name, letter: new RegExp(`\\p{Script_Extensions=${name}}`, 'u') }));

/** Scripts that may appear together in one word. */
const TOGETHER = [
  ['Han', 'Hiragana', 'Katakana', 'Latin'],
  ['Bopomofo', 'Han', 'Latin'],
  ['Han', 'Hangul', 'Latin'],
];

const NO_WORD = /[^\p{L}\p{M}\p{N}]+/u;
/** Accents and characters that are common to all scripts. */
const ANYBODYS = /[\p{M}\p{Script_Extensions=Common}\p{Script_Extensions=Inherited}]/u;
const NOT_PLAIN = /[^ -~]/;

/** Returns the scripts that a letter may belong to. */
function scriptsOf(letter: string): string[] {
  const known = SCRIPTS.filter((script) => script.letter.test(letter)).map(({ name }) => name);
  return known.length > 0 ? known : ['other'];
}

function isOne(letters: readonly string[][]): boolean {
  const areAllOf = (names: readonly string[]) =>
    letters.every((scripts) => scripts.some((script) => names.includes(script)));
  const first = letters[0];
  return !first || first.some((script) => areAllOf([script])) || TOGETHER.some(areAllOf);
}

/** Names the scripts of a word. A letter of several scripts counts as one that the word already
 *  has, else as the first. */
function namesOf(letters: readonly string[][]): Set<string> {
  const names = new Set(letters.filter((scripts) => scripts.length === 1).flat());
  for (const scripts of letters) {
    if (!scripts.some((script) => names.has(script))) names.add(scripts[0]!);
  }
  return names;
}

/** Returns the scripts that are mixed within one word of the text, such as `Cyrillic+Latin`. */
export function mixed(text: string): string | undefined {
  if (!NOT_PLAIN.test(text)) return undefined;
  const met = new Set<string>();
  for (const word of text.split(NO_WORD)) {
    const letters = [...word].filter((letter) => !ANYBODYS.test(letter)).map(scriptsOf);
    if (!isOne(letters)) for (const name of namesOf(letters)) met.add(name);
  }
  return met.size > 0 ? [...met].sort().join('+') : undefined;
}
