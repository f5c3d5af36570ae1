// What the terms of a token mean, for the person who confirms them. The server names each term; the
// passkey signs the names.
import { MEANS, type Scope } from '@/settings/scopes';

const HOUR_S = 3_600;

const isScope = (text: string): text is Scope => Object.hasOwn(MEANS, text);

function lasts(seconds: number): string {
  const hours = Math.round(seconds / HOUR_S);
  return hours % 24 === 0 && hours > 24 ? `${hours / 24} days` : `${hours} hours`;
}

/** Explains one term; `undefined` for anything else that is confirmed. */
export function meaningOf(term: string): string | undefined {
  const at = term.indexOf(':');
  const [kind, value] = at < 0 ? [term, ''] : [term.slice(0, at), term.slice(at + 1)];
  switch (kind) {
    case 'scope':
      return isScope(value) ? MEANS[value] : undefined;
    case 'lifetime':
      return `Valid for ${lasts(Number.parseInt(value, 10))}`;
    case 'network':
      return 'Only from this network';
    case 'terminal':
      return 'The code that your terminal shows';
    case 'label':
      return 'The description, by its digest';
    default:
      return undefined;
  }
}
