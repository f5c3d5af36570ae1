// @vitest-environment node
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');

function theme(block: string): Record<string, string> {
  const found = [...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)];
  return Object.fromEntries(found.map(([, name, value]) => [name, value]));
}

function luminance(colour: string): number {
  const part = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

const [lightBlock, darkBlock] = css.split("[data-theme='dark']");
const themes = { light: theme(lightBlock!), dark: theme(darkBlock!) };
const PAPER = ['canvas', 'surface', 'sunken'];
const TEXT = ['ink', 'ink-2', 'ink-3', 'accent', 'danger'];
const STATUS = ['quiet', 'review', 'good', 'busy', 'bad'];
const RISK = ['low', 'medium', 'high', 'critical'];

describe.each(Object.entries(themes))('%s', (_, token) => {
  const pair = (front: string, back: string) => contrast(token[front]!, token[back]!);

  it('has the same names as the other theme', () => {
    expect(Object.keys(token).sort()).toEqual(Object.keys(themes.light).sort());
  });

  it.each(TEXT.flatMap((text) => PAPER.map((paper) => [text, paper] as const)))(
    '%s is readable on %s',
    (text, paper) => expect(pair(text, paper)).toBeGreaterThanOrEqual(4.5),
  );

  it.each([...STATUS, ...RISK])('%s is readable on canvas and surface', (text) => {
    expect(pair(text, 'canvas')).toBeGreaterThanOrEqual(4.5);
    expect(pair(text, 'surface')).toBeGreaterThanOrEqual(4.5);
  });

  it.each(RISK)('%s is readable on its soft background, and its bars are visible', (risk) => {
    expect(pair(risk, `${risk}-soft`)).toBeGreaterThanOrEqual(4.5);
    expect(pair(`${risk}-mark`, 'surface')).toBeGreaterThanOrEqual(3);
  });

  it.each(STATUS)('the mark of %s is visible', (status) => {
    expect(pair(`${status}-mark`, 'surface')).toBeGreaterThanOrEqual(3);
  });

  it('has visible focus rings and control borders', () => {
    for (const paper of PAPER) expect(pair('focus', paper)).toBeGreaterThanOrEqual(3);
    expect(pair('line-strong', 'canvas')).toBeGreaterThanOrEqual(3);
  });

  it('is readable on buttons and diff lines', () => {
    expect(pair('on-accent', 'accent')).toBeGreaterThanOrEqual(4.5);
    expect(pair('on-danger', 'danger')).toBeGreaterThanOrEqual(4.5);
    for (const side of ['add', 'del']) {
      expect(pair('ink', side)).toBeGreaterThanOrEqual(4.5);
      expect(pair('ink', `${side}-word`)).toBeGreaterThanOrEqual(4.5);
      expect(pair(`${side}-sign`, side)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('increases contrast with the risk', () => {
    const steps = RISK.map((risk) => pair(`${risk}-mark`, 'surface'));
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
  });
});
