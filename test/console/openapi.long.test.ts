import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ask } from '../support/ask.ts';
import { PERMISSIONS } from '../../src/store/access/permissions.ts';
import { useDirectory } from '../support/use-directory.ts';
import { useConsole } from '../support/use-console.ts';
import { areasOf, DESTINATION, namesOf, seedSource } from './sources/two-sources.ts';

const jsonSchema = z.record(z.string(), z.unknown());
const operationSchema = z.object({
  operationId: z.string(),
  'x-permission': z.enum(PERMISSIONS),
  parameters: z
    .array(z.object({ name: z.string(), in: z.enum(['path', 'query']), required: z.boolean().optional() }))
    .default([]),
  responses: z.object({
    200: z.object({ content: z.record(z.string(), z.object({ schema: jsonSchema })) }),
  }),
});
const documentSchema = z.object({
  openapi: z.literal('3.1.0'),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
  paths: z.record(
    z.string().startsWith('/api/v1/'),
    z.partialRecord(z.enum(['get', 'post']), operationSchema),
  ),
});

type Operation = z.infer<typeof operationSchema>;

/** The first text under each key anywhere in an answer: ids to ask for. */
function textsIn(value: unknown, texts = new Map<string, string>()): Map<string, string> {
  for (const [key, member] of Object.entries(jsonSchema.safeParse(value).data ?? {})) {
    if (typeof member === 'string' && !texts.has(key)) texts.set(key, member);
    else textsIn(member, texts);
  }
  if (Array.isArray(value)) for (const member of value) textsIn(member, texts);
  return texts;
}

describe('the API as its document describes it', () => {
  const directory = useDirectory();
  const names = namesOf('amber', 'a');
  const admin = useConsole((db) => areasOf(db, directory, [names]), {
    logs: true,
    seed: (db) => seedSource(db, names),
  });
  let document: z.infer<typeof documentSchema>;
  beforeAll(async () => {
    document = documentSchema.parse(await get('/api/openapi.json'));
  });

  async function get(address: string): Promise<unknown> {
    const { status, text } = await ask(admin.url, { path: address });
    if (status !== 200) throw new Error(`${address} answered ${status}: ${text}`);
    const answer: unknown = JSON.parse(text);
    return answer;
  }

  const operations = (): (readonly [path: string, method: string, operation: Operation])[] =>
    Object.entries(document.paths).flatMap(([address, methods]) =>
      Object.entries(methods).map(([method, operation]) => [address, method, operation] as const),
    );

  it('gives every operation a name of its own', () => {
    const ids = operations().map(([, , { operationId }]) => operationId);
    expect(ids.length).toBeGreaterThan(5);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('declares each parameter of each path, and no path twice', () => {
    for (const [address, , { parameters }] of operations()) {
      const inPath = [...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = parameters.filter(({ in: place, required }) => place === 'path' && required === true);
      expect(declared.map(({ name }) => name)).toEqual(inPath);
    }
    const shapes = Object.keys(document.paths).map((address) => address.replaceAll(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('answers every question as the document says', async () => {
    /** References as they are within one schema. */
    const local = (schema: unknown): unknown =>
      JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/'));
    const $defs = z.record(z.string(), jsonSchema).parse(local(document.components.schemas));
    const known = new Map([
      ['mac', names.mac],
      ['export_id', '0'.repeat(32)],
    ]);
    const RANGE: Record<string, string> = {
      since: new Date(Date.now() - 3_600_000).toISOString(),
      until: new Date().toISOString(),
    };
    const NAMES: Record<string, string> = { users: names.user, destinations: DESTINATION };
    await ask(admin.url, { path: `/api/v1/events/export?format=csv&export_id=${'0'.repeat(32)}` });
    const questions = operations()
      .filter(([, method, { responses }]) => method === 'get' && 'application/json' in responses[200].content)
      .toSorted(([a], [b]) => a.split('{').length - b.split('{').length);
    const misfits: unknown[] = [];
    for (const [address, , { parameters, responses }] of questions) {
      const filled = address.replaceAll(
        /\/(\w+)\/\{(\w+)\}/g,
        (_, room: string, name: string) => `/${room}/${known.get(name) ?? NAMES[room] ?? 'unknown'}`,
      );
      const wanted = parameters.filter(({ in: place, required }) => place === 'query' && required === true);
      const query = new URLSearchParams(wanted.map(({ name }) => [name, RANGE[name] ?? 'unknown']));
      const answer = await get(`${filled}?${query.toString()}`);
      for (const [key, text] of textsIn(answer)) if (!known.has(key) && key !== 'name') known.set(key, text);
      const described = jsonSchema.parse(local(responses[200].content['application/json']?.schema));
      const { error } = z.fromJSONSchema({ ...described, $defs }).safeParse(answer);
      if (error !== undefined) misfits.push({ filled, issues: error.issues, answer });
    }
    expect(questions.length).toBeGreaterThan(5);
    expect(misfits).toEqual([]);
  });
});
