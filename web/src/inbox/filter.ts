// Parser for the filter field: `risk:>60 level:high type:sql.* overdue other words`. The filter is
// part of the address, so that a link shows the same list.
import type { Row } from './rows';

type Test = (row: Row, nameOf: (id: string) => string) => boolean;

export interface Term {
  readonly text: string;
  readonly test: Test;
  /** Why the term is invalid, if it is. */
  readonly fault?: string;
}

const NUMBER = /^(>=|<=|>|<|=)?(\d{1,3})$/;

function risk(value: string): Test | undefined {
  const [, sign = '=', digits] = NUMBER.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const limit = Number(digits);
  const tests: Record<string, (score: number) => boolean> = {
    '>': (score) => score > limit,
    '<': (score) => score < limit,
    '>=': (score) => score >= limit,
    '<=': (score) => score <= limit,
    '=': (score) => score === limit,
  };
  return ({ score }) => tests[sign]!(score);
}

function glob(value: string): (text: string) => boolean {
  const parts = value.toLowerCase().split('*');
  return (text) => {
    const lower = text.toLowerCase();
    if (parts.length === 1) return lower === parts[0];
    let at = 0;
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      if (index === 0 && !lower.startsWith(part)) return false;
      const found = isLast ? Math.max(at, lower.length - part.length) : lower.indexOf(part, at);
      if (found < 0 || !lower.startsWith(part, found)) return false;
      at = found + part.length;
    }
    return true;
  };
}

const LEVELS = ['low', 'medium', 'high', 'critical'];

function keyed(key: string, value: string): Test | undefined {
  switch (key) {
    case 'risk':
      return risk(value);
    case 'level':
      return LEVELS.includes(value) ? (row) => row.level.toLowerCase() === value : undefined;
    case 'type': {
      const fits = glob(value);
      return (row) => fits(row.type);
    }
    case 'state':
      return (row) => row.state.toLowerCase() === value;
    case 'by': {
      const fits = glob(`*${value}*`);
      return (row, nameOf) => fits(nameOf(row.author));
    }
    default:
      return undefined;
  }
}

function term(text: string): Term {
  if (text === 'overdue') return { text, test: (row) => row.isOverdue };
  const [, key, value] = /^([a-z]+):(.+)$/.exec(text.toLowerCase()) ?? [];
  if (key && value && ['risk', 'level', 'type', 'state', 'by'].includes(key)) {
    const test = keyed(key, value);
    return test ? { text, test } : { text, test: () => false, fault: `Invalid filter “${text}”` };
  }
  const word = text.toLowerCase();
  return {
    text,
    test: (row) => row.title.toLowerCase().includes(word) || `t-${row.number}` === word,
  };
}

export function terms(query: string): Term[] {
  return query.split(/\s+/).filter(Boolean).map(term);
}

export function filtered(
  rows: readonly Row[],
  query: string,
  nameOf: (id: string) => string,
): readonly Row[] {
  const wanted = terms(query);
  if (wanted.length === 0) return rows;
  return rows.filter((row) => wanted.every(({ test }) => test(row, nameOf)));
}
