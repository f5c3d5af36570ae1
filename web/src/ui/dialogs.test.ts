import { expect, it } from 'vitest';
import { DIALOGS } from '../../e2e/dialogs';

const sources = import.meta.glob<string>('../**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
});

const files = Object.entries(sources)
  .map(([path, text]) => [path.replace(/^\.\.\//, '').replace(/^\.\//, 'ui/'), text] as const)
  .filter(([path]) => !path.endsWith('.test.tsx') && path !== 'ui/Dialog.tsx');

it('every dialog is opened by the browser test that types blind', () => {
  const found = files.filter(([, text]) => /<Dialog\b/.test(text)).map(([path]) => path);
  expect(found.sort()).toEqual(Object.keys(DIALOGS).sort());
});

it('no file has more than one dialog, so that none hides behind another', () => {
  const several = files.filter(([, text]) => (text.match(/<Dialog\b/g) ?? []).length > 1);
  expect(several.map(([path]) => path)).toEqual([]);
});

it('no dialog goes around the shared component', () => {
  const own = files.filter(
    ([, text]) => /role="dialog"/.test(text) || /\b(Alert)?Dialog\b[^;]*from 'radix-ui'/.test(text),
  );
  expect(own.map(([path]) => path)).toEqual([]);
});
