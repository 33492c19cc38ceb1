import { EventEmitter } from 'node:events';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { OutageError } from '../../src/lib/errors.ts';
import { openBatchQueue } from '../../src/queue/batch-queue.ts';
import { createPostgresEngine } from '../../src/queue/postgres-engine.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { waitFor } from '../support/wait-for.ts';

it('a worker replaces all its connections once one gets no answer, and for no other error', async () => {
  const { databaseUrl, db } = await databaseForTest();
  const ignore = () => undefined;
  const worker = createPostgresEngine({ databaseUrl }).connectWorker(
    'deliveries',
    async () => undefined,
    {},
    ignore,
  );
  onTestFinished(async () => {
    await worker.bullmq.close(true);
    await worker.disconnect();
  });
  await worker.bullmq.waitUntilReady();
  if (!(worker.bullmq instanceof EventEmitter)) throw new TypeError('BullMQ reports its errors as events');
  const { bullmq } = worker;
  bullmq.on('error', ignore);
  const sessions = async () => {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and application_name = 'xiq-sink queue'`.execute(db);
    return rows.map(({ pid }) => pid);
  };
  const before = await sessions();
  expect(before.length).toBeGreaterThan(0);
  bullmq.emit('error', new Error('deadlock detected'));
  await worker.bullmq.getBackend().getCounts(['failed']);
  expect(await sessions()).toEqual(expect.arrayContaining(before));
  bullmq.emit('error', new Error('Query read timeout'));
  await waitFor(async () => {
    const now = await sessions();
    return now.length > 0 && before.every((pid) => !now.includes(pid));
  });
});

it('a queue whose database lets nobody in does not answer', async () => {
  const { databaseUrl, db } = await databaseForTest();
  const queue = openBatchQueue({ kind: 'postgres', databaseUrl }, pino({ level: 'silent' }));
  onTestFinished(() => queue.close());
  await queue.check();
  await sql`alter database ${sql.id(new URL(databaseUrl).pathname.slice(1))} connection limit 0`.execute(db);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'xiq-sink queue'`.execute(db);
  await expect(queue.check()).rejects.toThrow(OutageError);
});

it.each([{ isDirect: true }, { isDirect: false }])(
  'what a worker writes about its jobs does not wait for the disk (direct: $isDirect)',
  async ({ isDirect }) => {
    const { databaseUrl, db } = await databaseForTest();
    const engine = createPostgresEngine({ databaseUrl, directUrl: isDirect ? databaseUrl : undefined });
    await sql`create table commits (how text); grant insert on commits to public`.execute(db);
    await sql`create function record_commit() returns trigger language plpgsql as $$
      begin
        insert into public.commits values (current_setting('synchronous_commit'));
        return null;
      end $$;
      create trigger record_commit after update or delete on bullmq.job
        for each row execute function record_commit()`.execute(db);
    const ignore = () => undefined;
    const producer = engine.connectProducer('deliveries', {}, ignore);
    await producer.bullmq.add('batch', { version: 1, deliveries: [] }, { removeOnComplete: true });
    const { promise: processed, resolve } = Promise.withResolvers<void>();
    const worker = engine.connectWorker('deliveries', async () => resolve(), {}, ignore);
    onTestFinished(async () => {
      for (const one of [worker, producer]) {
        await one.bullmq.close();
        await one.disconnect();
      }
    });
    await processed;
    const { rows } = await sql`select distinct how from commits`.execute(db);
    expect(rows).toEqual([{ how: 'off' }]);
  },
);
