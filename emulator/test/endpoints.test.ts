import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf } from './endpoint-row.ts';
import { FURTHER_ROWS, SPECIFIED_ROWS } from './endpoint-rows.ts';
import type { Answered } from './harness.ts';
import { createCall, errorCode, logIn, openEmulator, startEmulator } from './harness.ts';

const ROWS = [...SPECIFIED_ROWS, ...FURTHER_ROWS];

const content = z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) }));
const operation = z.object({
  operationId: z.string(),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ content: content.optional() })),
});
const document = z.object({ paths: z.record(z.string(), z.record(z.string(), operation)) });

function hasHardeningHeaders({ headers }: Answered): boolean {
  return (
    headers.get('x-content-type-options') === 'nosniff' &&
    headers.get('cache-control')?.includes('no-store') === true &&
    headers.has('strict-transport-security')
  );
}

describe('each row of the endpoint tables answers as it says', () => {
  let shared: Awaited<ReturnType<typeof openEmulator>>;
  let described: z.infer<typeof document>['paths'];
  beforeAll(async () => {
    shared = await openEmulator({ scale: { devices: 40, clients: 20, users: 10 } });
    described = document.parse((await createCall(shared.url)('GET', '/openapi.json')).body).paths;
  });
  afterAll(() => shared.emulator.close());

  it.each(ROWS)('$table: $method $path answers $status, as it is described', async (row) => {
    const call = createCall(shared.url, await logIn(shared.url, 'administrator'));
    const request = await row.request(call);
    const answer = await call(row.method, addressOf(row, request), request);
    expect(answer).toMatchObject({ status: row.status });
    const { requestBody, responses } = operation.parse(described[row.path]?.[row.method.toLowerCase()]);
    const parts = [
      [request.body, requestBody?.content['application/json']],
      [answer.body, responses[row.status]?.content?.['application/json']],
    ] as const;
    for (const [value, media] of parts) {
      if (value === undefined && media === undefined) continue;
      expect(z.fromJSONSchema(media?.schema ?? { not: {} }).safeParse(value).error).toBeUndefined();
    }
    expect(hasHardeningHeaders(answer)).toBe(true);
    const rateLimit = answer.headers.get('ratelimit') ?? 'none';
    expect(rateLimit).toMatch(row.isOpen ? /^none$/ : /^"default";r=\d+$/);
  });
});

describe('each row that needs a token', () => {
  const secured = ROWS.filter(({ isOpen }) => isOpen === undefined);

  it('answers 401 without one, before it looks at anything else', async () => {
    const { url } = await startEmulator();
    const call = createCall(url);
    const wrong: string[] = [];
    for (const row of secured) {
      const answer = await call(row.method, addressOf(row, { id: 1 }));
      if (answer.status !== 401 || errorCode(answer) !== 'UNAUTHENTICATED') {
        wrong.push(`${row.method} ${row.path} answered ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('answers 403 to an operator where it changes something, and never where it only reads', async () => {
    const { url } = await startEmulator();
    const call = createCall(url, await logIn(url, 'operator'));
    const READS = /\/auth\/permissions\/:check|\/location\/:query|\/logout/;
    const ADMINISTRATORS_ONLY = /^\/users(?!\/me)/;
    const wrong: string[] = [];
    for (const row of secured) {
      const isReading = (row.method === 'GET' && !ADMINISTRATORS_ONLY.test(row.path)) || READS.test(row.path);
      if (row.path === '/logout') continue;
      const answer = await call(row.method, addressOf(row, { id: 1 }));
      if ((answer.status === 403) === isReading) wrong.push(`${row.method} ${row.path}: ${answer.status}`);
      if (answer.status === 403 && errorCode(answer) !== 'PERMISSION_DENIED') wrong.push(row.path);
    }
    expect(wrong).toEqual([]);
  });
});

it('the table walked here holds every operation the emulator describes, each of its own name, and no other', async () => {
  const { call } = await startEmulator();
  const { paths } = document.parse((await call('GET', '/openapi.json')).body);
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operationId,
    })),
  );
  const names = described.map(({ name }) => name);
  expect(names.toSorted()).toEqual(ROWS.map(({ method, path }) => `${method} ${path}`).toSorted());
  expect(new Set(described.map(({ operationId }) => operationId)).size).toBe(names.length);
});
