import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listGaps } from '../../src/store/reconcile/gaps.ts';
import { listProcesses } from '../../src/store/server/processes.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { postDelivery, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, serveForTest } from '../support/for-one-test.ts';

const post = (program: Program, body: string) => postDelivery(program, 'AUDIT_LOG_ALL', body);

const Line = z.looseObject({ msg: z.string(), job: z.string().optional() });

const Taken = z.looseObject({ durability: z.string() });

/** The lines of the log that name something. */
const linesWith = (program: Program, text: string) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(text))
    .map((line) => Line.parse(JSON.parse(line)));

const redisAvailable = BACKENDS.some(({ usesRedis, available }) => usesRedis && available);

describe.each(BACKENDS)('the request id, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)('joins receipt, log lines, job and rows', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const redis = usesRedis ? { REDIS_URL: await emptyRedis() } : {};
    const program = await serveForTest({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'debug', ...redis });
    // The first delivery of a process goes to the spool if the queue's first answer takes too long.
    await waitFor(async () => Taken.parse(await (await post(program, '[]')).json()).durability === 'queued');
    const response = await post(program, '[{"id":1},{"id":2}]');
    const requestId = response.headers.get('x-request-id') ?? '';
    expect(await response.json()).toMatchObject({ delivery_id: requestId });
    await waitFor(() => linesWith(program, requestId).some(({ msg }) => msg === 'batch stored'));

    const lines = linesWith(program, requestId);
    expect(lines.map(({ msg }) => msg).toSorted()).toEqual([
      'batch accepted',
      'batch stored',
      'delivery answered',
    ]);
    const taken = lines.find(({ msg }) => msg === 'batch accepted');
    const stored = lines.find(({ msg }) => msg === 'batch stored');
    expect(taken).toMatchObject({
      durability: 'queued',
      deliveries: 1,
      records: 2,
      bytes: 19,
      sources: { default: 1 },
      messageTypes: { AUDIT_LOG_ALL: 1 },
    });
    expect(stored).toMatchObject({ attempt: 1, events: 2, duplicates: 0, quarantined: 0, storedBefore: 0 });
    expect(taken?.job).toBeTypeOf('string');
    expect(stored?.job).toBe(taken?.job);
    const rows = await db
      .selectFrom('events')
      .select('event_id')
      .where('delivery_id', '=', requestId)
      .execute();
    expect(rows).toHaveLength(2);
  });
});

describe('the report of a process', () => {
  it('lets the next start find the downtime after a kill', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const killed = await serveForTest({ DATABASE_URL: databaseUrl });
    await waitFor(async () => (await sql`select from heartbeat`.execute(db)).rows.length === 1);
    await killed.end('SIGKILL');
    await sql`update heartbeat set receiving_at = now() - interval '1 hour'`.execute(db);
    await serveForTest({ DATABASE_URL: databaseUrl });
    const range = { since: new Date(0), until: new Date() };
    const [gap] = await waitFor(async () => {
      const found = await listGaps(db, ALL_SOURCES, range);
      return found.length === 1 ? found : undefined;
    });
    expect(gap).toMatchObject({ source: null, message_type: null, reason: 'downtime' });
    const minutes = ((gap?.ended_at?.getTime() ?? 0) - (gap?.began_at.getTime() ?? 0)) / 60_000;
    expect(Math.round(minutes)).toBe(60);
  });

  it.skipIf(!redisAvailable)('comes from an ingest process with DATABASE_URL, and outlives it', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const REDIS_URL = await emptyRedis();
    const without = await serveForTest({ REDIS_URL }, '--role', 'ingest');
    const ingest = await serveForTest({ REDIS_URL, DATABASE_URL: databaseUrl }, '--role', 'ingest');
    const worker = await serveForTest({ REDIS_URL, DATABASE_URL: databaseUrl }, '--role', 'worker');
    const listed = await waitFor(async () => {
      const found = await listProcesses(db);
      return found.length === 2 ? found : undefined;
    });
    expect(listed.map(({ role, pid }) => [role, pid])).toEqual([
      ['ingest', ingest.pid],
      ['worker', worker.pid],
    ]);
    expect(listed[0]?.figures).toMatchObject({ storing: null, queueWorks: true });
    expect(listed[1]?.figures).toMatchObject({ answers: null, spool: null, queueWorks: null });
    await ingest.end('SIGKILL');
    expect(await listProcesses(db)).toHaveLength(2);
    expect((await fetch(`${without.url}/readyz`)).status).toBe(200);
  });
});
