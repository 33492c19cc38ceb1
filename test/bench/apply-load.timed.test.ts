import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { applyLoad } from '../../bench/apply-load.ts';
import { authorizationOf, fill, WORKLOADS } from '../../bench/workloads.ts';

const SECRET = 'a-secret-of-the-benchmark';
const never = new AbortController().signal;

async function addressOf(server: Server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { origin: `http://127.0.0.1:${port}`, secret: SECRET };
}

// Without a rate wrk sends, if it is on PATH.
test.each([
  { workload: 'audit-1-basic', rate: undefined },
  { workload: 'location-20', rate: undefined },
  { workload: 'audit-1', rate: 500 },
] as const)(
  'the load of $workload with the rate $rate is sent as it is written',
  async ({ workload, rate }) => {
    const { messageType, form, template } = WORKLOADS[workload];
    const bodies: string[] = [];
    const others = new Set<string>();
    await using server = createServer((request, response) => {
      others.add(`${request.method} ${request.url} ${request.headers.authorization}`);
      void text(request).then((body) => response.end(void bodies.push(body)));
    });
    const load = await applyLoad({ ...(await addressOf(server)), workload, seconds: 0.2, rate }, never);

    expect(load).toMatchObject({ acknowledged: bodies.length, refused: 0, unanswered: 0 });
    expect(bodies.length).toBeGreaterThan(10);
    expect(new Set(bodies).size).toBe(bodies.length);
    expect([...others]).toEqual([`POST /ingest/default/${messageType} ${authorizationOf(form, SECRET)}`]);
    // The time at which this delivery was sent is unknown, but it is one of the first moments.
    const times = Array.from({ length: 400 }, (_, milliseconds) => load.startedAt + milliseconds);
    expect(times.some((now) => bodies.includes(fill(template, 7, now)))).toBe(true);
  },
);

test('a slow answer counts once', async () => {
  const slowMs = 1_500;
  let answers = 0;
  await using server = createServer((request, response) => {
    request.resume();
    answers += 1;
    // Half a percent.
    if (answers % 200 === 0) setTimeout(() => response.end(), slowMs);
    else response.end();
  });
  const load = await applyLoad({ ...(await addressOf(server)), workload: 'audit-1', seconds: 0.5 }, never);
  expect(load.p50).toBeGreaterThan(0);
  expect(load.p99).toBeLessThan((slowMs * 2) / 3);
});
