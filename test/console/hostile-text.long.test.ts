import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Area } from '../../src/console/area.ts';
import { writeCursor } from '../../src/console/api/paging.ts';
import { useConsole } from '../support/use-console.ts';
import { useDirectory } from '../support/use-directory.ts';
import { areasOf, namesOf } from './sources/two-sources.ts';

const TOKEN = 'the-admin-token-0123456789';
const NUL = 'a\0b';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}
const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    properties: z.record(z.string(), schema).optional(),
    items: schema.optional(),
  }),
);

/** What the OpenAPI document, which is made of the schemas of the routes, says of the input of a route. */
const operation = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ schema }) }) })
    .transform(({ content }) => content['application/json'].schema)
    .optional(),
});
const document = z.object({ paths: z.record(z.string(), z.record(z.string(), operation)) });

/** The places in a body that hold a value, each with a body that has U+0000 there and nothing else. */
function bodiesWith({ properties, items }: Schema): { readonly at: string; readonly body: unknown }[] {
  if (items !== undefined) return bodiesWith(items).map(({ at, body }) => ({ at: `.0${at}`, body: [body] }));
  if (properties === undefined) return [{ at: '', body: NUL }];
  return Object.entries(properties).flatMap(([name, member]) =>
    bodiesWith(member).map(({ at, body }) => ({ at: `.${name}${at}`, body: { [name]: body } })),
  );
}

const directory = useDirectory();
let areas: readonly Area[];
const admin = useConsole((db) => (areas = areasOf(db, directory, [namesOf('amber', 'a')])), { token: TOKEN });

const ask = (path: string, body?: unknown) => admin.ask(TOKEN, path, body);

const readDocument = async () => document.parse(JSON.parse((await ask('/api/openapi.json')).text)).paths;

it('U+0000 in any member of any route is a wrong value of that member', async () => {
  const answers: unknown[] = [];
  const expected: unknown[] = [];
  const isRefused = async (path: string, member: string, body?: unknown) => {
    const { status, text } = await ask(path, body);
    answers.push({ path, member, status, isNamed: text.includes(member) });
    expected.push({ path, member, status: 400, isNamed: true });
  };
  for (const [address, methods] of Object.entries(await readDocument())) {
    for (const [method, { parameters, requestBody }] of Object.entries(methods)) {
      const body = method === 'post' ? {} : undefined;
      const plain = address.replaceAll(/\{\w+\}/g, '1');
      for (const { name, in: place } of parameters) {
        const nul = encodeURIComponent(NUL);
        if (place === 'path') {
          await isRefused(
            address.replace(`{${name}}`, nul).replaceAll(/\{\w+\}/g, '1'),
            `path.${name}`,
            body,
          );
        } else await isRefused(`${plain}?${name}=${nul}`, `query.${name}`, body);
      }
      for (const { at, body: hostile } of requestBody === undefined ? [] : bodiesWith(requestBody)) {
        await isRefused(plain, `body${at}`, hostile);
      }
    }
  }
  process.stdout.write(`U+0000: ${answers.length} members of the API tried\n`);
  expect(answers.length).toBeGreaterThan(100);
  expect(answers).toEqual(expected);
});

it('U+0000 in the address or the cursor of any page or list is no error of the database', async () => {
  const names = Object.values(await readDocument()).flatMap((methods) =>
    Object.values(methods).flatMap(({ parameters }) => parameters.map(({ name }) => name)),
  );
  const place = { id: NUL, key: NUL, label: NUL, at: NUL, began: NUL, after: NUL, kind: 'user', lastSeen: 0 };
  const queries = [...new Set(names)].map((name) => `${name}=${encodeURIComponent(NUL)}`);
  queries.push(`cursor=${writeCursor(place)}`, `search=${encodeURIComponent(`/events?${NUL}`)}`);
  const failed: string[] = [];
  let tried = 0;
  const isAnswered = async (path: string) => {
    const { status } = await ask(path);
    tried += 1;
    if (status >= 500) failed.push(`${path}: ${status}`);
    return status < 400;
  };
  for (const page of areas.flatMap((area) => area.pages)) {
    const plain = page.path.replaceAll(/:\w+/g, '1');
    if (plain !== page.path) await isAnswered(page.path.replaceAll(/:\w+/g, encodeURIComponent(NUL)));
    // A page that refuses one value may not have looked at the others.
    if (await isAnswered(`${plain}?${queries.join('&')}`)) continue;
    for (const query of queries) await isAnswered(`${plain}?${query}`);
  }
  process.stdout.write(`U+0000: ${tried} addresses of pages tried\n`);
  expect(failed).toEqual([]);
});
