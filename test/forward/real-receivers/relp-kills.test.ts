import { exactTerms } from '../../../src/events/search-query.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RELP_WINDOW } from '../../../src/forward/senders/relp.ts';
import { BatchStore } from '../../../src/handlers/store-batch.ts';
import { addDestination, listDestinations } from '../../../src/store/destinations/destinations.ts';
import { readSlice, type LogSlice } from '../../../src/store/events/read-events.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { hasOpenssl, makeCertificate } from '../../support/certificates.ts';
import { createTestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { freePort } from '../../support/free-port.ts';
import { SECRET, startProgram } from '../../support/program.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { findProgram } from './find-program.ts';
import { missingOfRsyslog, startRelpReceiver } from './rsyslog.ts';

/** How often each of the two is killed: `RELP_KILLS=50 npm run test:suite siem`. */
const KILLS = Number(process.env['RELP_KILLS'] ?? 3);
const EVENTS_PER_KILL = 300;
const BATCH = 100;

/** Stores events whose user ids are numbers from `from` on. */
async function storeEvents(db: Db, from: number, count: number): Promise<void> {
  const store = new BatchStore(db, pino({ level: 'silent' }), new AbortController().signal);
  for (let at = 0; at < count; at += BATCH) {
    const records = Array.from({ length: BATCH }, (_, index) => auditRecord({ userId: from + at + index }));
    await store.add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
  }
}

/** The ids of all events, in the order of the log. */
async function idsInLog(db: Db): Promise<string[]> {
  await untilSeen(db);
  const ids: string[] = [];
  const log = openLog(db);
  for (let position: number | undefined = 0; position !== undefined;) {
    const slice: LogSlice = await readSlice(log, ALL_SOURCES, position, 1_000, {
      terms: exactTerms({ type: 'AUDIT_LOG_ALL' }),
    });
    for (const { eventId } of slice.events) ids.push(eventId);
    position = slice.end;
  }
  return ids;
}

const program = findProgram('rsyslogd');
const missing = program === undefined ? 'rsyslogd is not installed' : missingOfRsyslog(program);
const reason = missing === undefined ? '' : ` (skipped: ${missing})`;

describe.skipIf(missing !== undefined || !hasOpenssl)(`rsyslog as RELP receiver${reason}`, () => {
  test(
    `nothing is lost and the order is kept when it and the forwarder are killed ${KILLS} times each`,
    { timeout: KILLS * 30_000 + 60_000 },
    async ({ annotate }) => {
      const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-relp-'));
      const certificates = { server: makeCertificate('IP:127.0.0.1'), client: makeCertificate('DNS:sink') };
      const database = await createTestDatabase({ logs: true });
      const ports = { tcp: await freePort(), tls: await freePort() };
      const receiver = await startRelpReceiver(program ?? '', directory, ports, certificates);
      onTestFinished(async () => {
        await receiver.stop();
        await database.drop();
        certificates.server[Symbol.dispose]();
        certificates.client[Symbol.dispose]();
        rmSync(directory, { recursive: true });
      });
      const file = path.join(directory, 'settings.yaml');
      const destination = { name: 'siem', type: 'relp', host: '127.0.0.1', port: ports.tcp };
      // JSON is YAML.
      await writeFile(
        file,
        JSON.stringify({ destinations: [{ ...destination, format: 'leef', batch: { events: BATCH } }] }),
      );
      const settings = {
        DATABASE_URL: database.databaseUrl,
        DATA_DIR: directory,
        WEBHOOK_SECRET: SECRET,
        XIQ_SINK_CONFIG: file,
      };
      await addDestination(database.db, 'siem', 0);

      const startForwarder = () => startProgram(settings, '--role', 'forward');
      let forwarder = await startForwarder();
      onTestFinished(async () => void (await forwarder.end('SIGKILL')));
      const arrives = (count: number) => waitFor(() => receiver.received().length >= count, 60_000);

      for (let kill = 0; kill < KILLS; kill += 1) {
        const received = receiver.received().length;
        await storeEvents(database.db, kill * EVENTS_PER_KILL, EVENTS_PER_KILL);
        await arrives(received + 1);
        await receiver.kill();
        await receiver.start();
        await arrives(received + BATCH);
        await forwarder.end('SIGKILL');
        // Passes the time for which a process that was killed still counts as the one that sends.
        await sql`update destinations set lease_until = now() - interval '1 s'`.execute(database.db);
        forwarder = await startForwarder();
      }
      await waitFor(async () => (await listDestinations(database.db))[0]?.behind_count === 0, 60_000);

      const ids = await idsInLog(database.db);
      expect(ids).toHaveLength(KILLS * EVENTS_PER_KILL);
      const received = receiver.received().map(({ event_id }) => event_id);
      expect([...new Set(received)]).toEqual(ids);
      const doubles = received.length - ids.length;
      expect(doubles).toBeLessThanOrEqual(KILLS * (RELP_WINDOW + BATCH));
      await annotate(`${KILLS} kills each, ${ids.length} events, ${doubles} twice`);
    },
  );
});
