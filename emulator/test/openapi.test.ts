import { expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf } from './endpoint-row.ts';
import { FURTHER_ROWS, SPECIFIED_ROWS } from './endpoint-rows.ts';
import { createCall, logIn, startEmulator } from './harness.ts';
import { DEVICE_VIEWS } from '../contract/device-views.ts';

const ROWS = [...SPECIFIED_ROWS, ...FURTHER_ROWS];

const jsonSchema = z.record(z.string(), z.unknown());
const contentSchema = z.record(z.string(), z.object({ schema: jsonSchema }));
const operationSchema = z.object({
  operationId: z.string().regex(/^[a-z][A-Za-z0-9]+$/),
  tags: z.array(z.string()).min(1),
  summary: z.string().min(1),
  security: z.array(z.object({ bearer: z.array(z.string()).length(1) })),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query']),
        required: z.boolean().default(false),
        schema: jsonSchema,
      }),
    )
    .default([]),
  requestBody: z.object({ required: z.boolean(), content: contentSchema }).optional(),
  responses: z.record(
    z.string().regex(/^[2-5]\d\d$/),
    z.union([
      z.object({ $ref: z.string() }),
      z.object({ description: z.string(), content: contentSchema.optional() }),
    ]),
  ),
});
const documentSchema = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.literal('25.13.1-1') }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string().startsWith('/'), z.record(z.string(), operationSchema)),
  components: z.record(z.string(), jsonSchema),
});

async function describedApi() {
  const setup = await startEmulator();
  const answer = await setup.call('GET', '/openapi.json', { token: undefined });
  expect(answer.status).toBe(200);
  return { ...setup, raw: answer.body, document: documentSchema.parse(answer.body) };
}

/** Every value under a key named `$ref`. */
function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === '$ref' ? [String(member)] : references(member),
  );
}

function resolve(document: unknown, reference: string): unknown {
  let at: unknown = document;
  for (const name of reference.replace(/^#\//, '').split('/')) at = jsonSchema.safeParse(at).data?.[name];
  return at;
}

it('describes operations under unique names, with every path parameter declared', async () => {
  const { document } = await describedApi();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, ...operation })),
  );
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, parameters } of operations) {
    const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  }
});

it('refers only to what it holds', async () => {
  const { raw } = await describedApi();
  const all = references(raw);
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter((reference) => resolve(raw, reference) === undefined)).toEqual([]);
});

it('describes requests and answers as they are: its schemas accept what every row sends and gets', async () => {
  const { document, url } = await describedApi();
  const wrong: string[] = [];
  for (const row of ROWS) {
    const call = createCall(url, await logIn(url, 'administrator'));
    const request = await row.request(call);
    const { status, body } = await call(row.method, addressOf(row, request), request);
    const operation = document.paths[row.path]?.[row.method.toLowerCase()];
    const success = z
      .object({ content: contentSchema.optional() })
      .safeParse(operation?.responses[String(status)]);
    const parts = [
      ['request', request.body, operation?.requestBody?.content['application/json']?.schema],
      ['answer', body, success.data?.content?.['application/json']?.schema],
    ] as const;
    for (const [part, value, schema] of parts) {
      if (value === undefined && schema === undefined) continue;
      const result = z.fromJSONSchema(schema ?? { not: {} }).safeParse(value);
      if (!result.success) wrong.push(`${row.method} ${row.path} ${part}: ${result.error.message}`);
    }
  }
  expect(wrong).toEqual([]);
});

it('tells which calls can be asynchronous, and what they answer then', async () => {
  const { document } = await describedApi();
  const asynchronous = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters }]) => parameters.some(({ name }) => name === 'async'))
      .map(([method, { responses }]) => ({ operation: `${method} ${path}`, accepted: responses['202'] })),
  );
  expect(asynchronous.map(({ operation }) => operation)).toEqual([
    'post /alert-subscriptions/webhooks/:delete',
    'get /devices',
    'post /devices/:cli',
    'post /devices/{id}/:reset',
  ]);
  for (const { accepted } of asynchronous) expect(accepted).toBeDefined();
});

it('describes parameters as what they are, not as the text they are read from', async () => {
  const { document } = await describedApi();
  const parametersOf = (path: string) =>
    Object.fromEntries(document.paths[path]?.['get']?.parameters.map((each) => [each.name, each]) ?? []);
  expect(parametersOf('/devices')).toMatchObject({
    page: { required: false, schema: { type: 'integer', minimum: 1, default: 1 } },
    limit: { required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
    views: { required: false, schema: { type: 'array', items: { enum: Object.keys(DEVICE_VIEWS) } } },
    async: { required: false, schema: { type: 'boolean', default: false } },
  });
  expect(parametersOf('/devices/{id}')).toMatchObject({
    id: { in: 'path', required: true, schema: { type: 'integer', format: 'int64' } },
  });
  expect(parametersOf('/logs/audit')).toMatchObject({
    startTime: { required: true, schema: { type: 'integer' } },
    limit: { schema: { maximum: 500 } },
  });
});
