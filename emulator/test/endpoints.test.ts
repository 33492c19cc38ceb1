import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf } from './endpoint-row.ts';
import { FURTHER_ROWS, SPECIFIED_ROWS } from './endpoint-rows.ts';
import type { Shape } from './endpoint-row.ts';
import type { Answered } from './harness.ts';
import { createCall, errorCode, logIn, openEmulator, startEmulator } from './harness.ts';

const ROWS = [...SPECIFIED_ROWS, ...FURTHER_ROWS];

const SHAPES: Readonly<Record<Shape, z.ZodType>> = {
  object: z.looseObject({ pagination: z.undefined().optional() }),
  array: z.array(z.unknown()),
  page: z.looseObject({
    pagination: z.looseObject({ total: z.int().nonnegative() }),
    data: z.array(z.looseObject({})),
  }),
  value: z.union([z.string(), z.number(), z.boolean()]),
  empty: z.undefined(),
};

function hasHardeningHeaders({ headers }: Answered): boolean {
  return (
    headers.get('x-content-type-options') === 'nosniff' &&
    headers.get('cache-control')?.includes('no-store') === true &&
    headers.has('strict-transport-security')
  );
}

describe('each row of the endpoint tables answers as it says', () => {
  let shared: Awaited<ReturnType<typeof openEmulator>>;
  beforeAll(async () => {
    shared = await openEmulator({ scale: { devices: 40, clients: 20, users: 10 } });
  });
  afterAll(() => shared.emulator.close());

  it.each(ROWS)('$table: $method $path answers $status, $shape', async (row) => {
    const call = createCall(shared.url, await logIn(shared.url, 'administrator'));
    const request = await row.request(call);
    const answer = await call(row.method, addressOf(row, request), request);
    expect(answer).toMatchObject({ status: row.status });
    expect(SHAPES[row.shape].safeParse(answer.body).error?.issues).toBeUndefined();
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

it('the table walked here holds every operation the emulator describes, and no other', async () => {
  const { call } = await startEmulator();
  const answer = await call('GET', '/openapi.json');
  const paths = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });
  const described = Object.entries(paths.parse(answer.body).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.toSorted()).toEqual(ROWS.map(({ method, path }) => `${method} ${path}`).toSorted());
});
