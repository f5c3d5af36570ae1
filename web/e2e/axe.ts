// Runs axe on a page and returns violations and undecided findings.
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
  /** Visible texts whose background axe cannot determine. */
  readonly unsure: string[];
}

export async function objections(page: Page): Promise<Objections> {
  // The Content Security Policy blocks external scripts; this one is injected by the debugger.
  await page.evaluate(AXE);
  return page.evaluate(async (tags) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations, incomplete } = await axe.run({ runOnly: tags, elementRef: true });
    /** Excludes rows and tabs that are scrolled out of view, because they have no background. */
    const isInSight = (element: Element) =>
      new Promise<boolean>((done) => {
        const watch = new IntersectionObserver(([seen]) => {
          watch.disconnect();
          done(seen!.isIntersecting);
        });
        watch.observe(element);
      });
    const describe = (id: string, { html, failureSummary }: Node) =>
      `${id}: ${html.slice(0, 160)} ${failureSummary?.slice(0, 200)}`;
    const unsure: string[] = [];
    for (const { id, nodes } of incomplete.filter((one) => one.id === 'color-contrast')) {
      for (const node of nodes) {
        // A mark such as ● is not text for axe; the token tests check the contrast of marks.
        const isMark = node.any.some(({ data }) => data?.messageKey === 'nonBmp');
        if (!isMark && (await isInSight(node.element))) unsure.push(describe(id, node));
      }
    }
    return {
      violations: violations.flatMap(({ id, nodes }) => nodes.map((node) => describe(id, node))),
      unsure,
    };
  }, TAGS);
}
