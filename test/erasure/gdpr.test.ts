import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startGdprErasures } from '../../src/erasure/erase-person.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { findClientEvents, suggestErasures } from '../../src/store/seal/erase.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase();

const AT = Date.UTC(2026, 5, 1);
const CLIENT = 'ba:be:00:00:00:01';
/** Digits that are the account of another customer, too. */
const DIGITS = '123456789012';
const ACCESS_POINT = '00:11:22:33:44:55';

let log: SealedLog;
beforeAll(async () => {
  log = await openSealedLog(test.service);
  await writeFile(path.join(log.directory, 'erasure-key'), '07'.repeat(32), { mode: 0o600 });
  await store('victim', 'AUDIT_LOG_ALL', [auditRecord({ orgId: Number(DIGITS), timeStamp: AT - 9 })]);
  await store('victim', 'LOCATION_CLIENT_CENTRIC', [seen(CLIENT, AT - 9), seen(DIGITS, AT - 9)]);
  // Whom another source calls an access point decides nothing here.
  await store('victim', 'LOCATION_CLIENT_CENTRIC', [{ ...seen('02:00:00:00:00:09', AT - 9), apMac: CLIENT }]);
  await store('sender', 'LOCATION_CLIENT_CENTRIC', [seen(CLIENT, AT - 9), seen(CLIENT, AT + 9)]);
  await store('sender', 'AUDIT_LOG_ALL', [
    auditRecord({ description: `client ${CLIENT}`, timeStamp: AT - 9 }),
  ]);
  const deleted = { category: 'DELETE', status: 'COMPLETED', admin: 'dpo', timeStamp: AT };
  const macs = [CLIENT, DIGITS, ACCESS_POINT];
  await store(
    'sender',
    'GDPR_LOG_ALL',
    macs.map((mac, logId) => ({ ...deleted, logId, mac })),
  );
  await log.seal();
});

const seen = (clientMac: string, timestamp: number) => ({ clientMac, apMac: ACCESS_POINT, timestamp });

const store = (source: string, ...[messageType, records, more]: Parameters<typeof queuedDelivery>) =>
  new BatchStore(test.service, pino({ level: 'silent' }), new AbortController().signal, {
    erasureKeyFile: path.join(log.directory, 'erasure-key'),
  }).add({ deliveries: [queuedDelivery(messageType, records, { source, ...more })] });

async function stored(): Promise<readonly string[]> {
  const rows = await test.query<{ what: string }>`
    select concat_ws(' ', source, message_type, count(*)) as what from events group by source, message_type
    order by 1`;
  return rows.map(({ what }) => what);
}

it('only clients of the source that says so are suggested, and no access points', async () => {
  expect(await suggestErasures(test.service)).toEqual([
    { mac: CLIENT, source: 'sender', events: 1, deletedAt: new Date(AT) },
  ]);
});

it('only events of that source, of before, and of that client are erased', async () => {
  const config = loadConfig({
    DATA_DIR: log.directory,
    GDPR_ERASURE: 'auto',
    WEBHOOK_SECRET: 'x'.repeat(32),
  });
  await using started = new AsyncDisposableStack();
  startGdprErasures({ db: test.service }, config, pino({ level: 'silent' }), started);
  const request = () =>
    sql<{ details: unknown; result: unknown }>`
      select details - 'reason' as details, result - 'erasure' as result from operator_log
      where action = 'events.erase' and outcome = 'done'`.execute(test.service);
  const { rows } = await waitFor(async () => {
    const found = await request();
    return found.rows.length > 0 ? found : undefined;
  });
  expect(rows).toEqual([{ details: { source: 'sender' }, result: { events: 1, remaining: [] } }]);
  expect(await stored()).toEqual([
    'sender AUDIT_LOG_ALL 1',
    'sender GDPR_LOG_ALL 3',
    'sender LOCATION_CLIENT_CENTRIC 1',
    'victim AUDIT_LOG_ALL 1',
    'victim LOCATION_CLIENT_CENTRIC 3',
  ]);
  const kinds = await test.query`select kind, count(*)::int from refused_records group by 1 order by 1`;
  expect(kinds).toEqual([{ kind: 'client', count: 1 }]);
});

it('what comes late is refused only if it is of that source, of before, and of that client', async () => {
  await store('sender', 'LOCATION_CLIENT_CENTRIC', [seen(CLIENT, AT - 5), seen(CLIENT, AT + 5)]);
  await store('sender', 'AUDIT_LOG_ALL', [
    auditRecord({ description: `again ${CLIENT}`, timeStamp: AT - 5 }),
  ]);
  await store('victim', 'LOCATION_CLIENT_CENTRIC', [seen(CLIENT, AT - 5)]);
  expect(await stored()).toEqual([
    'sender AUDIT_LOG_ALL 2',
    'sender GDPR_LOG_ALL 3',
    'sender LOCATION_CLIENT_CENTRIC 2',
    'victim AUDIT_LOG_ALL 1',
    'victim LOCATION_CLIENT_CENTRIC 4',
  ]);
});

it('a record of the future reaches no further than its receipt', async () => {
  const [mac, receivedAt, timeStamp] = ['02:00:00:00:00:07', AT + 50, Date.UTC(2090, 0)];
  const ahead = { category: 'DELETE', status: 'COMPLETED', admin: 'dpo', timeStamp, logId: 9, mac };
  await store('ahead', 'LOCATION_CLIENT_CENTRIC', [seen(mac, AT), seen(mac, timeStamp)], {
    receivedAt: AT + 9,
  });
  await store('ahead', 'GDPR_LOG_ALL', [ahead], { receivedAt });
  await store('ahead', 'LOCATION_CLIENT_CENTRIC', [seen(mac, AT + 60), seen(mac, timeStamp + 1)]);
  const ofAhead = (await suggestErasures(test.service)).filter(({ source }) => source === 'ahead');
  expect(ofAhead).toEqual([{ mac, source: 'ahead', events: 2, deletedAt: new Date(receivedAt) }]);
  const found = await findClientEvents(test.service, mac, 'ahead', new Date(receivedAt));
  expect(found).toHaveLength(2);
});
