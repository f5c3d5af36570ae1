// Words of letters that nobody writes together: `prod` with a Cyrillic o looks like `prod`, and is
// not. The rule is that of the core (script.rs), and both are held to one list of samples.

/** Those of living languages, and those with letters like Latin ones. */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Bopomofo', 'Cherokee', 'Coptic', 'Cyrillic', 'Devanagari'],
  ...['Ethiopic', 'Georgian', 'Greek', 'Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew'],
  ...['Hiragana', 'Kannada', 'Katakana', 'Khmer', 'Lao', 'Latin', 'Lisu', 'Malayalam', 'Myanmar'],
  ...['Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
].map((name) => ({ name, letter: new RegExp(`\\p{Script_Extensions=${name}}`, 'u') }));

/** Written in one word. */
const TOGETHER = [
  ['Han', 'Hiragana', 'Katakana', 'Latin'],
  ['Bopomofo', 'Han', 'Latin'],
  ['Han', 'Hangul', 'Latin'],
];

const NO_WORD = /[^\p{L}\p{M}\p{N}]+/u;
/** Accents, and what every script uses. */
const ANYBODYS = /[\p{M}\p{Script_Extensions=Common}\p{Script_Extensions=Inherited}]/u;
const NOT_PLAIN = /[^ -~]/;

/** The scripts that one letter may belong to. */
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

/** Of a letter that could be of several, one that is there anyway, or else the first. */
function namesOf(letters: readonly string[][]): Set<string> {
  const names = new Set(letters.filter((scripts) => scripts.length === 1).flat());
  for (const scripts of letters) {
    if (!scripts.some((script) => names.has(script))) names.add(scripts[0]!);
  }
  return names;
}

/** The scripts that meet in one word of this text and should not, like `Cyrillic+Latin`. */
export function mixed(text: string): string | undefined {
  if (!NOT_PLAIN.test(text)) return undefined;
  const met = new Set<string>();
  for (const word of text.split(NO_WORD)) {
    const letters = [...word].filter((letter) => !ANYBODYS.test(letter)).map(scriptsOf);
    if (!isOne(letters)) for (const name of namesOf(letters)) met.add(name);
  }
  return met.size > 0 ? [...met].sort().join('+') : undefined;
}
