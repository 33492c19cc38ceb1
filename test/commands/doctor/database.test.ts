import { sql } from 'kysely';
import { expect, test } from 'vitest';
import {
  checkConservation,
  checkMigrations,
  checkPartitions,
  checkRetention,
  checkRoles,
} from '../../../src/commands/doctor/database.ts';
import { checkWitnessed } from '../../../src/commands/doctor/seal.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { unguarded } from '../../support/database.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { accessTo } from './access-to.ts';
import { useDatabase } from '../../support/use-database.ts';
import { NO_ANCHORS } from '../../support/trust.ts';
import { generateLogKey, parseLogKey } from '../../../src/seal/signed-note.ts';
import { keepFork, replaceWitnessed } from '../../../src/store/seal/witnessed-logs.ts';
import { waitFor } from '../../support/wait-for.ts';
import { storeDeliveries } from '../../support/actions.ts';

const database = useDatabase();

const access = () => accessTo(database);

test('migrations of a newer version are a failure', async () => {
  const { db } = database;
  expect(await checkMigrations(access())).toMatchObject({ status: 'ok' });
  await sql`insert into kysely_migration values ('9999_later', '')`.execute(db);
  expect(await checkMigrations(access())).toMatchObject({
    status: 'fail',
    message: 'a newer xiq-sink has applied 9999_later',
  });
});

test('a reader who may create tables, as on Postgres 14 without an administrator, is reported', async () => {
  const { db } = database;
  const message = async () => (await checkRoles(access(), loadConfig({}))).message;
  expect(await message()).not.toContain('of its own');
  await sql`grant create on schema public to xiq_reader`.execute(db);
  expect(await message()).toContain('xiq_reader has tables and functions of its own');
  await sql`revoke create on schema public from xiq_reader`.execute(db);
  await sql`grant update (user_name) on audit_events to xiq_reader`.execute(db);
  await sql`grant select on log_salts, sources to xiq_reader`.execute(db);
  expect(await message()).toMatch(
    /xiq_reader has .*write access to audit_events, read access to log_salts, sources/,
  );
  await sql`revoke update (user_name) on audit_events from xiq_reader`.execute(db);
  await sql`revoke select on log_salts, sources from xiq_reader`.execute(db);
  expect(await message()).not.toMatch(/(write|read) access/);
});

test('what is open in quarantine waits for a person, and adds up', async () => {
  expect(await checkConservation(access())).toMatchObject({ status: 'ok', message: '0 deliveries add up' });
  const unreadable = [{ reason: 'not JSON', content: 'e30=' }];
  await storeDeliveries(database.db, queuedDelivery('AUDIT_LOG_ALL', [], { unreadable, recordCount: 1 }));
  expect(await checkConservation(access())).toMatchObject({
    status: 'warn',
    message: '1 delivery adds up; 1 open item in quarantine',
  });
});

test('deliveries that were deleted after they were counted are found by a full count', async () => {
  const { db } = database;
  await deliverAndCount(db, { receivedAt: new Date(), messageType: 'SMS_LOG_ALL', count: 3 });
  expect(await checkConservation(access(), true)).toMatchObject({ status: 'warn' });
  await unguarded(db, (trx) =>
    sql`delete from deliveries where ctid in (
      select ctid from deliveries where message_type = 'SMS_LOG_ALL' limit 1)`.execute(trx),
  );
  expect(await checkConservation(access(), true)).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(
      /^does not add up: default SMS_LOG_ALL in deliveries_\d{4}_\d{2} \(1 missing\)$/,
    ) as unknown,
  });
});

test('partitions that retention has passed, and months that are not there, are told of', async () => {
  const { db } = database;
  const config = loadConfig({ RETENTION_AUDIT_MONTHS: '1' });
  expect(await checkRetention(access(), config)).toMatchObject({
    status: 'ok',
    message:
      'audit 1 month, location forever, log forever, alerts forever, other forever, deliveries forever',
  });
  await sql`create table audit_events_2020_01 partition of audit_events
    for values from ('2020-01-01') to ('2020-02-01')`.execute(db);
  expect(await checkRetention(access(), config)).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('past retention: audit_events_2020_01') as unknown,
  });
  expect(await checkPartitions(access(), config)).toMatchObject({ status: 'ok' });
  const { rows } = await sql<{ name: string }>`
    select max(inhrelid::regclass::text) as name from pg_inherits
    where inhparent = 'log_entries'::regclass and inhrelid <> 'log_entries_default'::regclass`.execute(db);
  await sql`drop table ${sql.id(rows[0]?.name ?? '')}`.execute(db);
  expect(await checkPartitions(access(), config)).toMatchObject({
    status: 'warn',
    message: expect.stringContaining(`1 partition missing, first ${rows[0]?.name}`) as unknown,
  });
});

test('rows outside the partitions are told of with their times, and by whether they can move or expire', async () => {
  const { db, service } = database;
  const config = loadConfig({ RETENTION_AUDIT_MONTHS: '12' });
  const partitions = async () => {
    const { message, remedy } = await checkPartitions(access(), config);
    return [message, remedy];
  };
  await sql`drop table if exists audit_events_2020_01`.execute(db);
  await maintainPartitions(service, new Date(), {});
  await insertAudits(db, { occurredAt: '2019-02-03', count: 10_001 });
  await insertAudits(db, { occurredAt: '2016-07-03' });
  expect(await partitions()).toEqual([
    'in default partitions: more than 10,000 events in audit_events_default, 2016-07-03 to 2019-02-03, 2 months to move',
    expect.stringContaining('a worker moves rows to their months'),
  ]);
  expect(await checkRetention(access(), config)).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('past retention: audit_events_default') as unknown,
  });
  const dropped = new Set<string>();
  // Autovacuum may keep a month from one call: it looks at one with 10,000 new rows.
  const inDefault = await waitFor(async () => {
    const done = await maintainPartitions(service, new Date(), { audit: 12 });
    for (const month of done.dropped) dropped.add(month);
    return dropped.size === 2 && done.inDefault;
  });
  expect([...dropped].toSorted()).toEqual(['audit_events_2016_07', 'audit_events_2019_02']);
  expect(inDefault).toEqual([]);
  expect(await checkRetention(access(), config)).toMatchObject({ status: 'ok' });

  await insertAudits(db, { occurredAt: '1970-01-01' });
  await insertAudits(db, { occurredAt: '2099-12-31' });
  const forEver = await checkPartitions(access(), loadConfig({}));
  expect(forEver).toMatchObject({
    message: 'in default partitions: 2 events in audit_events_default, 1970-01-01 to 2099-12-31',
    remedy: expect.stringContaining('cannot be right') as unknown,
  });
});

test('a log of others that has forked is a failure while the settings name it', async () => {
  const { publicText } = parseLogKey(generateLogKey('xiq-sink/other'));
  const config = { ...NO_ANCHORS.anchors, witnesses: [{ publicKey: publicText, url: 'https://b.example' }] };
  const check = (anchors = config) => checkWitnessed(access(), { anchors });
  expect(await check()).toMatchObject({ status: 'ok', message: '1 other installation' });
  await replaceWitnessed(database.service, publicText, undefined, 'one');
  await keepFork(database.service, publicText, 'both');
  expect(await check()).toMatchObject({
    status: 'fail',
    message: `${publicText} has forked: neither of two trees that it signed contains the other`,
  });
  expect(await check({ ...config, witnesses: [] })).toMatchObject({ status: 'ok' });
});
