// What axe objects to on a page, and what it cannot say about it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

interface Node {
  readonly html: string;
  readonly element: Element;
  readonly failureSummary?: string;
  readonly any: { readonly data?: { readonly messageKey?: string } }[];
}

interface Finding {
  readonly id: string;
  readonly nodes: Node[];
}

interface Axe {
  run: (options: unknown) => Promise<{ violations: Finding[]; incomplete: Finding[] }>;
}

export interface Objections {
  readonly violations: string[];
  /** Texts that can be seen, of which it does not know what lies behind them. */
  readonly unsure: string[];
}

export async function objections(page: Page): Promise<Objections> {
  // The policy of the page forbids scripts from elsewhere; this one comes from the debugger.
  await page.evaluate(AXE);
  return page.evaluate(async (tags) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations, incomplete } = await axe.run({ runOnly: tags, elementRef: true });
    /** Rows and tabs that are scrolled out of their frame lie behind its edge, not on a colour. */
    const isInSight = (element: Element) =>
      new Promise<boolean>((done) => {
        const watch = new IntersectionObserver(([seen]) => {
          watch.disconnect();
          done(seen!.isIntersecting);
        });
        watch.observe(element);
      });
    const told = (id: string, { html, failureSummary }: Node) =>
      `${id}: ${html.slice(0, 160)} ${failureSummary?.slice(0, 200)}`;
    const unsure: string[] = [];
    for (const { id, nodes } of incomplete.filter((one) => one.id === 'color-contrast')) {
      for (const node of nodes) {
        // A mark such as ● is not text to it; the test of the tokens holds the contrast of marks.
        const isMark = node.any.some(({ data }) => data?.messageKey === 'nonBmp');
        if (!isMark && (await isInSight(node.element))) unsure.push(told(id, node));
      }
    }
    return {
      violations: violations.flatMap(({ id, nodes }) => nodes.map((node) => told(id, node))),
      unsure,
    };
  }, TAGS);
}
