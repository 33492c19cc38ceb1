import { expect, it } from 'vitest';
import { html, renderDocument, renderToString } from '../../src/console/html/html.ts';
import { sparkline } from '../../src/console/html/sparkline.ts';

const TEXT = 'safe\u202Egnp.exe\u0085\u200B <b>';
const SHOWN = String.raw`safe\u202egnp.exe\u0085\u200b &lt;b>`;

it('a page shows hidden characters in all its texts, however they are nested', () => {
  const list = [TEXT, [html`<i>${TEXT}</i>`, [TEXT]]];
  expect(renderDocument(html`<p>${TEXT}, ${list}</p>`)).toBe(
    `<!doctype html><p>${SHOWN}, ${SHOWN}<i>${SHOWN}</i>${SHOWN}</p>`,
  );
});

it('a field has its value as it was entered, so that a form sends back the same', () => {
  expect(renderDocument(html`<input value=${'a\u202Eb'} />`)).toContain('value="a\u202Eb"');
});

it('text in any script, and emoji, stay', () => {
  expect(renderDocument(html`<p>${'שלום 日本 👩‍💻\n x'}</p>`)).toBe('<!doctype html><p>שלום 日本 👩‍💻\n x</p>');
});

it('the bars of a sparkline are as high as their counts, and the smallest can still be seen', () => {
  const drawn = renderToString(sparkline([0, 1, 90, 180], '4 days'));
  const heights = [...drawn.matchAll(/<rect[^>]* height="(\d+)"/g)].map(([, height]) => height);
  expect(heights).toEqual(['1', '3', '9', '18']);
  expect(drawn).toContain('aria-label="271 events in 4 days"');
});
