import { promises as fs } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createBatchStore } from '../../src/handlers/store-batch.ts';
import { migrateStore } from '../../src/store/migrate.ts';
import { maintainPartitions } from '../../src/store/partitions.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { searchEvents } from '../../src/store/search-events.ts';
import { createOwnedDatabase } from '../support/database.ts';
import type { OwnedDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

let owned: OwnedDatabase;
beforeEach(async () => {
  owned = await createOwnedDatabase();
});
afterEach(() => owned.drop());

it('the table of alerts comes beside the events of before, whose rows and ids stay', async () => {
  const { db } = owned;
  const provider = new FileMigrationProvider({ fs, path, migrationFolder: path.resolve('migrations') });
  const { error } = await new Migrator({ db, provider }).migrateTo('0016_sources');
  expect(error).toBeUndefined();
  const store = createBatchStore(db, pino({ level: 'silent' }), new AbortController().signal);
  const timeStamp = Date.now();
  const stored = {
    audit: [auditRecord()],
    sms: [{ id: 1, timeStamp }],
    seen: [{ apMac: '001122334455', timeStamp }],
  };
  const deliveries = () => [
    queuedDelivery('AUDIT_LOG_ALL', stored.audit),
    queuedDelivery('SMS_LOG_ALL', stored.sms),
    queuedDelivery('LOCATION_AP_CENTRIC', stored.seen),
  ];
  await store({ deliveries: deliveries() });
  const events = async () => (await sql`select * from events order by id`.execute(db)).rows;
  const before = await events();
  expect(before).toHaveLength(3);

  await migrateStore(db);
  expect(await events()).toEqual(before);
  expect(await store({ deliveries: deliveries() })).toMatchObject({ events: 0, duplicates: 3 });

  const { created } = await maintainPartitions(db, new Date(), {});
  expect(created.filter((name) => name.startsWith('alerts_received_'))).toHaveLength(5);
  const alert = { timestamp: Date.now(), summary: 'Access point offline' };
  const result = await store({ deliveries: [queuedDelivery('ALERT', [alert])] });
  expect(result).toMatchObject({ events: 1 });
  expect(await events()).toMatchObject([
    ...before,
    { family: 'alerts', description: 'Access point offline' },
  ]);
  const found = await searchEvents(db, ALL_SOURCES, { messageTypes: ['ALERT'] }, { limit: 5 });
  expect(found).toMatchObject([{ family: 'alerts', columns: { summary: 'Access point offline' } }]);
});
