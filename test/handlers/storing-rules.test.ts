import { randomBytes } from 'node:crypto';
import { sql, type KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it, type TestContext } from 'vitest';
import { STORING_RULES } from '../../src/handlers/failure-rules.ts';
import { runTransaction } from '../../src/handlers/run-transaction.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { storeDeliveries } from '../../src/handlers/store-deliveries.ts';
import { MonthsOnDemand } from '../../src/store/partitions/months-on-demand.ts';
import { openLimited, type Db, type StoringLimits } from '../../src/store/server/database.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { createTestDatabase, serverUrl, type TestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { startProxy, through } from '../support/proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const forever = new AbortController().signal;

/** Where a row's test stores: a database of its own, by a connection of a worker's, its log read along. */
interface Storing extends TestDatabase {
  store(deliveries: readonly QueuedDelivery[], through?: Db): Promise<unknown>;
  /** Stores by inserts, as a worker does when COPY is not due. */
  insert(deliveries: readonly QueuedDelivery[]): Promise<unknown>;
  logged(text: string): boolean;
}

/** A worker that waits for locks and answers as long as a busy machine may need. */
const PATIENT: StoringLimits = { statementMs: 20_000, silenceMs: 20_000 };

async function startStoring(
  { onTestFinished }: TestContext,
  connectionUrl = (url: string) => url,
  limits = PATIENT,
): Promise<Storing> {
  const test = await createTestDatabase();
  const worker = openLimited('storing', connectionUrl(test.databaseUrl), () => undefined, limits);
  let log = '';
  const logger = pino({ level: 'debug' }, { write: (line: string) => void (log += line) });
  onTestFinished(async () => {
    await worker.destroy();
    await test.drop();
  });
  return {
    ...test,
    logged: (text) => log.includes(text),
    store: (deliveries, db = worker) => new BatchStore(db, logger, forever).add({ deliveries }),
    insert: (deliveries, months = new MonthsOnDemand()) =>
      runTransaction({ db: worker, logger, giveUp: forever }, (trx, isolate) =>
        storeDeliveries(trx, deliveries, isolate, months),
      ),
  };
}

const some = (): [QueuedDelivery, QueuedDelivery] => [
  queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ id: 1 }), auditRecord({ id: 2 })]),
  queuedDelivery('SMS_LOG_ALL', [{ tel: '+1' }], { unreadable: [{ reason: 'not JSON', content: 'AA==' }] }),
];

const counts = (db: Db) =>
  db
    .selectFrom('deliveries')
    .select(['expected_count', 'event_count', 'duplicate_count', 'quarantined_count'])
    .orderBy('delivery_id')
    .execute();

const account = (expected: number, event: number, duplicate: number, quarantined: number) => ({
  expected_count: expected,
  event_count: event,
  duplicate_count: duplicate,
  quarantined_count: quarantined,
});

const stored = [account(2, 2, 0, 0), account(2, 1, 0, 1)];

const endConnections = (db: Db) =>
  sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(db);

const waitForLocks = (db: Db, count: number) =>
  waitFor(async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length === count;
  });

/** The deliveries wait while it is so, and say for what; afterwards they are stored, none of it in quarantine. */
async function expectWaiting(storing: Storing, kind: string, mend: () => Promise<unknown>): Promise<void> {
  const done = storing.store(some());
  await waitFor(() => storing.logged(`waiting for the database (${kind})`));
  expect(await counts(storing.db)).toEqual([]);
  await mend();
  await done;
  expect(await counts(storing.db)).toEqual(stored);
}

/** Raises an error in a trigger, as a real one is raised in the same place. */
const raise = (db: Db, table: string, code: string, when = 'true') =>
  sql`create function raise_it() returns trigger language plpgsql as ${sql.lit(
    `begin if ${when} then raise exception 'raised' using errcode = '${code}'; end if; return new; end`,
  )}; create trigger raise_it before insert on ${sql.table(table)} for each row execute function raise_it()`.execute(
    db,
  );

/** Fails as a mistake in our own code would, so many times, whatever has to do with this delivery. */
function withDefect({ db }: TestDatabase, deliveryId: string, times: number): Db {
  let left = times;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      if (left > 0 && JSON.stringify(node).includes(deliveryId)) {
        left -= 1;
        throw new TypeError('x is not a function');
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return db.withPlugin(plugin);
}

/** A test for each rule of storing, by the name of its row. */
const TESTS: Readonly<Record<string, (context: TestContext) => Promise<void>>> = {
  deadlock: async (context) => {
    const storing = await startStoring(context);
    const other = await storing.db.startTransaction().execute();
    // Who looks for a deadlock first is the one that gives way: the worker, after a second.
    await sql`set local deadlock_timeout = '1min'`.execute(other);
    await sql`lock table audit_events in exclusive mode`.execute(other);
    const done = storing.store(some());
    await waitForLocks(storing.db, 1);
    await sql`lock table deliveries in exclusive mode`.execute(other);
    await waitFor(() => storing.logged('transaction retried (deadlock)'));
    await other.commit().execute();
    await done;
    expect(await counts(storing.db)).toEqual(stored);
  },

  'serialization failure': async (context) => {
    const storing = await startStoring(context);
    // As Postgres refuses a row that a change of the partitions has moved. What a sequence counts outlasts the rollback.
    await sql`
      create sequence attempts;
      create function fail_once() returns trigger language plpgsql as $$
        begin
          if nextval('attempts') = 1 then
            raise exception 'row was moved by a concurrent update' using errcode = 'serialization_failure';
          end if;
          return new;
        end $$;
      create trigger fail_once before insert on audit_events for each row execute function fail_once();
      grant usage on sequence attempts to public`.execute(storing.db);
    await storing.store(some());
    expect(storing.logged('transaction retried (serialization failure)')).toBe(true);
    expect(await counts(storing.db)).toEqual(stored);
  },

  'stored meanwhile': async (context) => {
    const storing = await startStoring(context);
    const deliveries = some();
    const other = await storing.db.startTransaction().execute();
    // Both workers look before either stores: the first waits for this lock, the second for the rows of the first.
    await sql`lock table quarantine in exclusive mode`.execute(other);
    const workers = [storing.store(deliveries, storing.db), storing.store(deliveries)];
    await waitForLocks(storing.db, 2);
    await other.commit().execute();
    await Promise.all(workers);
    expect(storing.logged('transaction retried (stored meanwhile)')).toBe(true);
    expect(await counts(storing.db)).toEqual(stored);
    expect(await storing.db.selectFrom('quarantine').selectAll().execute()).toHaveLength(1);
    expect(await storing.db.selectFrom('events').selectAll().execute()).toHaveLength(3);
  },

  'connection lost': async (context) => {
    const admin = new URL(serverUrl());
    const proxy = await startProxy({ host: admin.hostname, port: Number(admin.port || 5432) });
    context.onTestFinished(() => proxy.stop());
    const restore = proxy.cut();
    const storing = await startStoring(context, (url) => through(proxy, url));
    await expectWaiting(storing, 'connection lost', async () => restore());
  },

  'database read-only': async (context) => {
    const storing = await startStoring(context);
    const name = new URL(storing.databaseUrl).pathname.slice(1);
    await sql`alter database ${sql.id(name)} set default_transaction_read_only = on`.execute(storing.db);
    await expectWaiting(storing, 'database read-only', async () => {
      await sql`set default_transaction_read_only = off`.execute(storing.db);
      await sql`alter database ${sql.id(name)} reset default_transaction_read_only`.execute(storing.db);
      await endConnections(storing.db);
    });
  },

  'disk full': async (context) => {
    const storing = await startStoring(context);
    await raise(storing.db, 'deliveries', '53100');
    await expectWaiting(storing, 'disk full', () =>
      sql`drop trigger raise_it on deliveries`.execute(storing.db),
    );
  },

  'too many connections': async (context) => {
    // Of a role that is not the owner: no limit holds for a superuser.
    const role = `xiq_sink_test_${randomBytes(6).toString('hex')}`;
    const storing = await startStoring(context, (url) => {
      const worker = new URL(url);
      worker.username = role;
      worker.password = 'secret';
      return worker.href;
    });
    const { db } = storing;
    await sql`create role ${sql.id(role)} login password 'secret' connection limit 0`.execute(db);
    await sql`grant select, insert on all tables in schema public to ${sql.id(role)}`.execute(db);
    await sql`grant usage on all sequences in schema public to ${sql.id(role)}`.execute(db);
    await sql`grant execute on function pg_current_xact_id() to ${sql.id(role)}`.execute(db);
    await expectWaiting(storing, 'too many connections', () =>
      sql`alter role ${sql.id(role)} connection limit -1`.execute(db),
    );
    await sql`drop owned by ${sql.id(role)}`.execute(db);
    await sql`drop role ${sql.id(role)}`.execute(db);
  },

  'statement time-out': async (context) => {
    const storing = await startStoring(context, undefined, { ...PATIENT, statementMs: 300 });
    const other = await storing.db.startTransaction().execute();
    await sql`lock table audit_events in exclusive mode`.execute(other);
    const done = storing.store(some());
    await waitFor(() => storing.logged('waiting for the database (statement time-out)'));
    await other.commit().execute();
    await done;
    expect(await counts(storing.db)).toEqual(stored);
  },

  'unknown SQLSTATE': async (context) => {
    const storing = await startStoring(context);
    await sql`alter table audit_events rename to gone`.execute(storing.db);
    await expectWaiting(storing, 'unknown SQLSTATE', () =>
      sql`alter table gone rename to audit_events`.execute(storing.db),
    );
  },

  'row refused': async (context) => {
    const storing = await startStoring(context);
    await raise(storing.db, 'audit_events', 'P0001', 'new.code = 666');
    const records = Array.from({ length: 100 }, (_, id) => auditRecord({ id, code: id }));
    const culprit = auditRecord({ code: 666, description: 'the culprit' });
    await storing.store([queuedDelivery('AUDIT_LOG_ALL', records.with(41, culprit)), ...some()]);
    expect(await counts(storing.db)).toEqual([account(100, 99, 0, 1), ...stored]);
    const set = await storing.db.selectFrom('quarantine').selectAll().orderBy('reason').execute();
    expect(set.map(({ reason }) => reason)).toEqual(['not JSON', 'raised']);
    expect(JSON.parse(String(set[1]?.content))).toEqual(culprit);
  },

  defect: async (context) => {
    const storing = await startStoring(context);
    const [good, bad] = some();
    // Once with the others, three times alone; then it can be set aside.
    await storing.store([bad, good], withDefect(storing, bad.deliveryId, 4));
    expect(await counts(storing.db)).toEqual([account(2, 2, 0, 0), account(2, 0, 0, 2)]);
    const kept = await storing.db.selectFrom('quarantine').selectAll().orderBy('reason', 'desc').execute();
    expect(kept).toMatchObject([
      { reason: 'x is not a function', content: Buffer.from(bad.records), message_type: 'SMS_LOG_ALL' },
      { reason: 'not JSON', content: Buffer.from([0]) },
    ]);
    expect(storing.logged('a delivery could not be stored and was quarantined as a whole')).toBe(true);
  },

  'conversion defect': async (context) => {
    const storing = await startStoring(context);
    const records = '[{"id":1}'.repeat(2);
    const bad = queuedDelivery('AUDIT_LOG_ALL', [], { records, recordCount: 2 });
    const [good] = some();
    if (good === undefined) throw new Error('a delivery');
    await storing.store([bad, good]);
    const accounts = await counts(storing.db);
    expect(accounts).toHaveLength(2);
    expect(accounts).toEqual(expect.arrayContaining([account(1, 0, 0, 1), account(2, 2, 0, 0)]));
    const kept = await storing.db.selectFrom('quarantine').selectAll().execute();
    expect(kept).toMatchObject([{ delivery_id: bad.deliveryId, content: Buffer.from(records) }]);
    expect(kept[0]?.reason).toContain('cannot be converted');
  },
};

describe.concurrent('what goes wrong while storing', () => {
  const rules = Object.entries(STORING_RULES);

  it('has a test for each rule, and no other', () => {
    expect(Object.keys(TESTS).toSorted()).toEqual(rules.map(([name]) => name).toSorted());
  });

  it.for(rules)('follows the rule of: %s', async ([name], context) => {
    const test = TESTS[name];
    expect(test).toBeDefined();
    await test?.(context);
  });
});

describe('a delivery that can be stored in no way', () => {
  it('is given back, the others being stored', async (context) => {
    const storing = await startStoring(context);
    const [good, bad] = some();
    const broken = withDefect(storing, bad.deliveryId, Number.POSITIVE_INFINITY);
    await expect(storing.store([bad, good], broken)).rejects.toThrow(
      'deliveries that could neither be stored nor quarantined: 1',
    );
    expect(await counts(storing.db)).toEqual([account(2, 2, 0, 0)]);
  });

  it('is not tried without end when quarantine refuses it, too', async (context) => {
    const storing = await startStoring(context);
    await raise(storing.db, 'deliveries', 'P0001');
    await expect(storing.store(some())).rejects.toThrow(
      'deliveries that could neither be stored nor quarantined: 2',
    );
  });
});

it('a delivery larger than one statement is stored whole, twins and all, and once', async (context) => {
  const storing = await startStoring(context);
  const records = Array.from({ length: 4_500 }, (_, n) => ({ code: n % 4_499 }));
  const delivery = queuedDelivery('AUDIT_LOG_ALL', records);
  const again = queuedDelivery('AUDIT_LOG_ALL', records, { receivedAt: delivery.receivedAt });
  await storing.store([delivery]);
  await Promise.all([storing.store([delivery]), storing.store([again], storing.db)]);
  expect(await counts(storing.db)).toEqual([account(4_500, 4_500, 0, 0), account(4_500, 0, 4_500, 0)]);
});

it('a connection that has gone silent is given up, and the transaction is made again on another', async (context) => {
  const admin = new URL(serverUrl());
  const proxy = await startProxy({ host: admin.hostname, port: Number(admin.port || 5432) });
  context.onTestFinished(() => proxy.stop());
  const storing = await startStoring(context, (url) => through(proxy, url), {
    ...PATIENT,
    silenceMs: 1_000,
  });
  await storing.store(some());
  proxy.silence();
  const began = performance.now();
  const delivery = queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ id: 3 })]);
  await storing.store([delivery]);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(storing.logged('the database sent nothing for 1000 ms')).toBe(true);
  expect(await counts(storing.db)).toHaveLength(3);
});
