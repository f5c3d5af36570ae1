// Finds visual defects that markup rules miss: text that overlaps other text, and text that is cut
// off without an ellipsis.
import type { Page } from 'playwright-core';

/** Returns one line per finding; an empty result is expected. */
export function overlaps(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    interface Word {
      readonly text: string;
      readonly element: Element;
      readonly layer: Element | null;
      readonly rect: { left: number; top: number; right: number; bottom: number };
    }
    const isLayer = (element: Element) =>
      ['fixed', 'sticky'].includes(getComputedStyle(element).position);
    const layerOf = (element: Element | null): Element | null =>
      element === null || isLayer(element) ? element : layerOf(element.parentElement);

    /** Visible part of the rectangle after clipping by all ancestors. */
    const cut = (element: Element, rect: Word['rect']): Word['rect'] => {
      let { left, top, right, bottom } = rect;
      for (let at: Element | null = element; at; at = at.parentElement) {
        const { overflowX, overflowY, clipPath } = getComputedStyle(at);
        if (overflowX === 'visible' && overflowY === 'visible' && clipPath === 'none') continue;
        const box = clipPath === 'none' ? at.getBoundingClientRect() : new DOMRect();
        left = Math.max(left, box.left);
        top = Math.max(top, box.top);
        right = Math.min(right, box.right);
        bottom = Math.min(bottom, box.bottom);
      }
      return { left, top, right, bottom };
    };

    /** A text with an ellipsis yields two rectangles: the whole line and the visible part. */
    const boxesOf = (range: Range) => {
      const boxes = [...range.getClientRects()];
      return boxes.filter(
        ({ left, top }, place) =>
          !boxes.slice(0, place).some((other) => other.left === left && other.top === top),
      );
    };

    const words: Word[] = [];
    const dialog = document.querySelector('[role="dialog"], [role="alertdialog"]');
    const walk = document.createTreeWalker(dialog ?? document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const text = node.textContent?.trim() ?? '';
      const element = node.parentElement!;
      if (text === '' || getComputedStyle(element).visibility !== 'visible') continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of boxesOf(range)) {
        const rect = cut(element, box);
        const isSeen = rect.right - rect.left > 1 && rect.bottom - rect.top > 1;
        if (isSeen && rect.top < innerHeight && rect.bottom > 0) {
          words.push({ text: text.slice(0, 40), element, layer: layerOf(element), rect });
        }
      }
    }

    const found: string[] = [];
    words.forEach((one, place) => {
      for (const other of words.slice(place + 1)) {
        // A sticky bar covers the content that scrolls below it.
        if (one.layer !== other.layer) continue;
        const [a, b] = [one.rect, other.rect];
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const low = Math.min(a.bottom - a.top, b.bottom - b.top);
        if (width > 2 && height > 0.4 * low) found.push(`"${one.text}" overlaps "${other.text}"`);
      }
    });
    for (const cell of document.querySelectorAll('td, th, [role="gridcell"], [role="cell"]')) {
      const { overflowX, textOverflow } = getComputedStyle(cell);
      // A cell for screen readers only is invisible, so nothing is cut off.
      const isSeen = cell.clientWidth > 1;
      const isCut = cell.scrollWidth > cell.clientWidth + 1 && overflowX !== 'visible';
      if (isSeen && isCut && !/ellipsis/.test(textOverflow) && !/auto|scroll/.test(overflowX)) {
        found.push(`"${cell.textContent?.slice(0, 40)}" is cut off without an ellipsis`);
      }
    }
    return found;
  });
}
