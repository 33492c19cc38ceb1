import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { openBatchQueue } from '../../src/queue/batch-queue.ts';
import { startDeliveryWorker } from '../../src/queue/delivery-worker.ts';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';

const logger = pino({ level: 'silent' });

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** Writes down how each change of a job commits. */
const RECORD_COMMITS = sql`
  create table commits (operation text, how text);
  grant insert on commits to public;
  create function record_commit() returns trigger language plpgsql as $$
  begin
    insert into public.commits values (tg_op, current_setting('synchronous_commit'));
    return null;
  end $$;
  create trigger record_commit after insert or update or delete on bullmq.job
    for each row execute function record_commit()`;

describe('the queue in Postgres', () => {
  it.each([{ isDirect: true }, { isDirect: false }])(
    'waits for the disk when a job is added, and not when it is processed (direct: $isDirect)',
    async ({ isDirect }) => {
      const test = await createTestDatabase();
      const { databaseUrl, db } = test;
      cleanUps.push(() => test.drop());
      await RECORD_COMMITS.execute(db);
      const location = {
        kind: 'postgres',
        databaseUrl,
        directUrl: isDirect ? databaseUrl : undefined,
      } as const;
      const queue = openBatchQueue(location, logger);
      cleanUps.push(() => queue.close());
      await queue.add([queuedDelivery('AUDIT_LOG_ALL', [auditRecord()])]);
      const storeBatch = async () => ({ deliveries: 1, events: 1, duplicates: 0, quarantined: 0 });
      const worker = startDeliveryWorker(location, storeBatch, logger);
      cleanUps.push(() => worker.close());
      const read = async () =>
        (
          await sql<{ operation: string; how: string }>`select distinct * from commits order by 1, 2`.execute(
            db,
          )
        ).rows;
      await waitFor(async () => (await read()).some(({ operation }) => operation === 'DELETE'));
      expect(await read()).toEqual([
        { operation: 'DELETE', how: 'off' },
        { operation: 'INSERT', how: 'on' },
        { operation: 'UPDATE', how: 'off' },
      ]);
    },
  );
});
