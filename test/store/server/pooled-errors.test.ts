import { afterAll, beforeAll, expect, it } from 'vitest';
import { CopyData } from '../../../src/store/server/postgres-copy.ts';
import { createPool, type Pool } from '../../../src/store/server/postgres.ts';
import { useDatabase } from '../../support/use-database.ts';
import { hasPgbouncer, startPgbouncer, type TestPgbouncer } from '../../support/pgbouncer.ts';

const ROUNDS = 300;
const CLIENTS = 6;

/** Nothing here takes longer, unless an answer never comes. */
const ANSWER_MS = 10_000;

const database = useDatabase();
let pgbouncer: TestPgbouncer | undefined;
let pool: Pool | undefined;
beforeAll(async () => {
  if (!hasPgbouncer()) return;
  pgbouncer = await startPgbouncer({
    mode: 'transaction',
    urls: [database.adminUrl],
    settings: { default_pool_size: '3' },
  });
  pool = createPool(
    {
      connectionString: pgbouncer.through(database.adminUrl),
      max: CLIENTS,
      query_timeout: ANSWER_MS,
      settings: { statement_timeout: '60s' },
    },
    () => undefined,
  );
  await pool.query('create table numbers (number int primary key)');
  await pool.query('insert into numbers values (1)');
});
afterAll(async () => {
  await pool?.end();
  await pgbouncer?.stop();
});

it.skipIf(!hasPgbouncer())(
  'a transaction that follows a failed one has an answer, also from a pooler that gives each another session',
  async () => {
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const client = await pool?.connect();
        if (client === undefined) throw new Error('there is no pool');
        let count = 0;
        try {
          for (let round = 0; round < ROUNDS; round += 1) {
            const copied = client.query('copy numbers from stdin; copy numbers from stdin', [
              new CopyData(Buffer.from('1\n')),
              new CopyData(Buffer.from('2\n')),
            ]);
            await expect(copied).rejects.toThrow('duplicate key');
            await client.query('begin');
            const { rows } = await client.query<{ count: number }>(
              'select count(*)::int as count from numbers',
            );
            await client.query('commit');
            count += rows[0]?.count ?? 0;
          }
        } finally {
          client.release();
        }
        return count;
      }),
    );
    expect(answers).toEqual(answers.map(() => ROUNDS));
  },
  60_000,
);
