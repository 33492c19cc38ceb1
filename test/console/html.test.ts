import { expect, it } from 'vitest';
import { reveal } from '../../src/console/browser/shared/reveal.ts';
import { html, renderDocument, renderToString } from '../../src/console/html/html.ts';
import { sparkline } from '../../src/console/html/sparkline.ts';
import { revealHidden } from '../../src/lib/text/hidden-characters.ts';

const TEXT = 'safe\u202Egnp.exe\u0085\u200B <b>';
const SHOWN = String.raw`safe\u202egnp.exe\u0085\u200b &lt;b>`;

it('a page shows hidden characters in all its texts, however they are nested', () => {
  const list = [TEXT, [html`<i>${TEXT}</i>`, [TEXT]]];
  expect(renderDocument(html`<p>${TEXT}, ${list}</p>`)).toBe(
    `<!doctype html><p>${SHOWN}, ${SHOWN}<i>${SHOWN}</i>${SHOWN}</p>`,
  );
});

it('a browser shows the characters that the program shows', () => {
  for (const first of [0, 0x8000, 0x1_00_00, 0x1_80_00, 0xe_00_00]) {
    const points = Array.from({ length: 0x8000 }, (_, index) => String.fromCodePoint(first + index));
    for (const between of ['a', '👩\u200D', '\uFE0F']) {
      const text = points.join(between);
      expect(reveal(text) === revealHidden(text)).toBe(true);
    }
  }
});

it('a field has its value as it was entered, so that a form sends back the same', () => {
  expect(renderDocument(html`<input value=${'a\u202Eb'} />`)).toContain('value="a\u202Eb"');
});

it('text in any script, and emoji, stay', () => {
  expect(renderDocument(html`<p>${'שלום 日本 👩‍💻\n x'}</p>`)).toBe('<!doctype html><p>שלום 日本 👩‍💻\n x</p>');
});

it('the bars of a sparkline are as high as their counts, and the smallest can still be seen', () => {
  const drawn = renderToString(sparkline([0, 1, 90, 180], '4 days'));
  const heights = [...drawn.matchAll(/M\d+ \d+h2v(\d+)/g)].map(([, height]) => height);
  expect(heights).toEqual(['1', '3', '9', '18']);
  expect(drawn).toContain('aria-label="271 events in 4 days"');
});
