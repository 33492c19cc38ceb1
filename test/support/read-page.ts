const ENTITIES: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', '#39': "'" };

const decoded = (text: string) =>
  text.replaceAll(/&(#39|\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole);

/** The words of a piece of a page, as one reads them. */
export const textIn = (page: string) =>
  decoded(page.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

const pairsIn = (page: string, pattern: RegExp) =>
  Array.from(page.matchAll(pattern), ([, first = '', second = '']) => [first, second] as const);

/** What a page is about, without the navigation around it. */
export const contentOf = (page: string) => page.slice(page.indexOf('<main'), page.indexOf('</main>'));

/** The links of a page by their words, the first of each. */
export const linksIn = (page: string) =>
  Object.fromEntries(
    pairsIn(contentOf(page), /<a\b(?! class="opener")[^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs)
      .map(([address, label]) => [textIn(label), decoded(address)] as const)
      .toReversed(),
  );

/** The names and values of a page's lists of facts. */
export const factsIn = (page: string) =>
  Object.fromEntries(
    pairsIn(page, /<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/gs).map(([name, value]) => [
      textIn(name),
      textIn(value),
    ]),
  );

/** The rows of the table with this caption: the words of each cell. Empty if the page has no such table. */
export function rowsIn(page: string, caption: string): readonly (readonly string[])[] {
  const [, table = ''] = page.split(`role="region" aria-label="${caption}"`);
  const [, ...rows] = table.slice(0, table.indexOf('</tbody>')).split('<tr>').slice(1);
  return rows.map((row) =>
    Array.from(row.matchAll(/<td\b[^>]*>(.*?)<\/td>/gs), ([, cell = '']) => textIn(cell)),
  );
}

/** The fields of a page's forms by their names, with what is entered, chosen or ticked. */
export function fieldsIn(page: string): Readonly<Record<string, string>> {
  const inputs = pairsIn(page, /<input\b([^>]*)(\/?)>/g)
    .filter(([input]) => !input.includes('type="checkbox"') || /\bchecked\b/.test(input))
    .map(([input]) =>
      ['name', 'value'].map((one) => decoded(new RegExp(`\\b${one}="([^"]*)"`).exec(input)?.[1] ?? '')),
    );
  const choices = pairsIn(page, /<select\b[^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs).map(
    ([name, options]) => [
      name,
      decoded(
        /<option[^>]*selected[^>]*value="([^"]*)"|<option[^>]*value="([^"]*)"[^>]*selected/
          .exec(options)
          ?.slice(1)
          .join('') ?? '',
      ),
    ],
  );
  return Object.fromEntries<string>([...inputs, ...choices].map(([name = '', value = '']) => [name, value]));
}
