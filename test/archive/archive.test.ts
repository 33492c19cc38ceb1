import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { monthsBefore } from '../../src/archive/archive-in-turn.ts';
import { archiveMonth } from '../../src/archive/archive-month.ts';
import { openArchiveDatabase, readsArchive } from '../../src/archive/archive-database.ts';
import { givingWay } from '../../src/archive/give-way.ts';
import { deleteRemoved } from '../../src/archive/delete-removed.ts';
import { ArchiveReader, type ArchiveAccess } from '../../src/archive/read-archive.ts';
import { longestWindow, windowFor } from '../../src/archive/read-ahead.ts';
import { restoreFiles } from '../../src/archive/unarchive.ts';
import { archivedEvents } from '../../src/archive/verify-archive.ts';
import { findErasable } from '../../src/erasure/erase-person.ts';
import { listArchivedFiles } from '../../src/store/archive/archived-files.ts';
import type { Db } from '../../src/store/server/database.ts';
import { withClient } from '../../src/store/server/postgres.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { verifyNext } from '../../src/seal/verify/verify-in-turn.ts';
import { DAY, START, STORED } from '../store/events/varied-events.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { startProxy, through } from '../support/proxy.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { OPERATOR, useArchive } from './archived-months.ts';

/** January is archived, and the months after it are not. */
const FEBRUARY = new Date('2026-02-01T00:00:00Z');

const test = useDatabase({ isVaried: true });
const archived = useArchive(test);

/** One of each way in which rows are chosen in the files: by a condition, from one end, in groups. */
const QUESTIONS = [
  'select * from audit_events order by occurred_at, event_id',
  `select event_id from audit_log where 'ap-1' = any(host_names) or code in (10001, -7) order by 1`,
  `select event_id from events where source = $$branch$$ and payload @> '{"orgId": 5}' order by 1`,
  'select event_id from audit_log order by occurred_at, event_id limit 7 offset 2',
  'select event_id from audit_log order by occurred_at desc, event_id desc limit 30',
  'select source, message_type, count(*), min(occurred_at), max(occurred_at) from events group by 1, 2 order by 1, 2',
  `select date_trunc('day', occurred_at), user_name, count(code) from audit_log where code <> 10001 or user_name <> 'ann'
   group by 1, 2 order by 1, 2`,
  `select date_trunc('day', occurred_at), count(*), min(occurred_at), max(occurred_at) from audit_log group by 1 order by 1`,
  'select count(*), max(code) from audit_log where code = 77',
];

const AT_ONCE = { intervalSeconds: 0, restSeconds: 0 };

const person = { person: { users: ['ann'], macs: [], phones: [] }, eventIds: [] };

const answersOf = async (db: Db) => {
  const answers = [];
  for (const question of QUESTIONS) answers.push((await sql.raw(question).execute(db)).rows);
  return answers;
};

const filesOnDisk = async () =>
  (await readdir(archived.access.files.directory, { recursive: true })).filter((name) =>
    name.includes('.pa'),
  );

it('an archived month is read and proven with the live ones, and comes back as it was', async () => {
  const { access } = archived;
  const [before, found] = [await answersOf(test.service), await findErasable({ db: test.service }, person)];
  const all = await monthsBefore(test.service, FEBRUARY);
  expect(all.map(({ partition }) => partition).toSorted()).toEqual(
    ['alerts_received', 'audit_events', 'location_observations', 'log_entries', 'other_events'].map(
      (table) => `${table}_2026_01`,
    ),
  );
  // The others stay in the database, and are read beside the archive.
  const months = all.filter(({ table }) => table.name === 'audit_events');
  const steps = new Set<string>();
  for (const month of months) {
    const { rows, files, bytes } = await archiveMonth(access, month, OPERATOR, (step, done, all) =>
      steps.add(`${step} ${done <= all && all > 0}`),
    );
    expect(bytes).toBeGreaterThan(files);
    expect(rows).toBeGreaterThan(files);
  }
  expect([...steps]).toEqual(['writing true', 'comparing true', 'sealing true']);
  expect(await monthsBefore(test.service, FEBRUARY)).toHaveLength(all.length - months.length);
  const files = await listArchivedFiles(test.service, undefined);
  expect(await filesOnDisk()).toHaveLength(files.length);
  expect(
    await test.query`select from operator_log where action = 'archive.month' and outcome = 'done'`,
  ).toHaveLength(1);
  const late = queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ timeStamp: START })]);
  expect(await storeDeliveries(test.service, late)).toMatchObject({ events: 0, quarantined: 1 });

  expect(await answersOf(archived.events)).toEqual(before);
  const read = (text: string) => readOnlyQuery(test.readerUrl, text, readsArchive(access));
  const ofJanuary = `from audit_log where occurred_at < '2026-02-01T00:00:00Z'`;
  const january = files
    .filter(({ table }) => table === 'audit_events')
    .reduce((sum, { rows }) => sum + rows, 0);
  expect((await read(`select event_id ${ofJanuary}`)).archived?.rows).toBe(january);
  // From one end of the files, and a row for each group.
  expect(
    (await read(`select event_id ${ofJanuary} order by occurred_at limit 1`)).archived?.rows,
  ).toBeLessThan(january);
  expect(await read(`select count(*) ${ofJanuary}`)).toMatchObject({
    rows: [[String(january)]],
    archived: { rows: 2 },
  });
  expect((await read('select count(*) from quarantine')).archived).toBeUndefined();
  await endSilentSession(access);
  await endOpeningSession(access);

  const again = await findErasable({ db: test.service, archive: access }, person);
  expect(again.events.map(({ eventId }) => eventId).toSorted()).toEqual(
    found.events.map(({ eventId }) => eventId).toSorted(),
  );
  expect(again.files.length).toBeGreaterThan(0);
  await archived.log.seal();
  {
    await using events = archivedEvents(access);
    const expectIntact = async () => {
      const { summary, findings } = await archived.log.verify({ archived: events, isFull: true });
      expect([findings, summary.intact >= STORED]).toEqual([[], true]);
    };
    await expectIntact();
    // As after a restart of the server.
    const ends = sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await ends.execute(test.db);
    await expectIntact();
    const loading = sql`select from pg_stat_activity
      where datname = current_database() and application_name = 'xiq-sink archive'`;
    expect((await loading.execute(test.db)).rows).not.toEqual([]);
    expect(await verifyNext(test.service, AT_ONCE, archived.events)).toMatchObject({
      altered: 0,
      missing: 0,
    });
  }
  // Of a file that is not the one that was written, or gone, the rows are missing, and the rest is compared.
  const [damaged] = files;
  const onDisk = path.join(access.files.directory, damaged?.path ?? '');
  const content = await readFile(onDisk);
  for (const [state, damage] of [
    ['ALTERED', () => writeFile(onDisk, content.subarray(1))],
    ['MISSING', () => rm(onDisk)],
  ] as const) {
    await damage();
    await using events = archivedEvents(access);
    const { summary, findings } = await archived.log.verify({ archived: events, isFull: true });
    expect(findings.filter(({ subject }) => subject === 'file')).toMatchObject([
      { key: damaged?.path, state },
    ]);
    expect(summary).toMatchObject({ missing: (damaged?.rows ?? 0) + (state === 'MISSING' ? 1 : 0) });
    await writeFile(onDisk, content);
  }

  const restored: string[] = [];
  await restoreFiles(access, files, ({ path }) => restored.push(path));
  expect(restored).toEqual(files.map(({ path }) => path));
  expect(await deleteRemoved(access)).toEqual([]);
  expect(await filesOnDisk()).toEqual([]);
  expect(await answersOf(test.service)).toEqual(before);
});

/** What is being loaded for a session is given up when that ends, even if the server is silent. */
async function endSilentSession(access: ArchiveAccess): Promise<void> {
  const { hostname: host, port } = new URL(access.databaseUrl);
  const proxy = await startProxy({ host, port: Number(port) });
  onTestFinished(() => proxy.stop());
  const reader = await ArchiveReader.open({ ...access, databaseUrl: through(proxy, access.databaseUrl) });
  await withClient(access.databaseUrl, async (client) => {
    const run = async (text: string, values?: unknown[]) =>
      (await client.query<Readonly<Record<string, unknown>>>(text, values)).rows;
    await run(reader?.searchPath('session') ?? '');
    proxy.silence();
    const loading = reader?.prepare(run, 'select * from audit_events');
    await reader?.[Symbol.asyncDispose]();
    await expect(loading).rejects.toThrow(/terminated|not queryable/);
  });
}

/** A session that ends before its reader of the archive is open leaves no connection behind. */
async function endOpeningSession(access: ArchiveAccess): Promise<void> {
  const databaseUrl = `${access.databaseUrl}?application_name=ending`;
  const { db, close } = openArchiveDatabase({ ...access, databaseUrl });
  const sessions = () => test.query`select from pg_stat_activity where application_name = 'ending'`;
  const isWaiting = () =>
    test.query`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  const answer = await withClient(test.adminUrl, async (locker) => {
    await locker.query('begin; lock table archived_files in access exclusive mode');
    const asked = Promise.allSettled([sql`select from events`.execute(db)]);
    await waitFor(async () => (await isWaiting()).length > 0);
    await test.query`select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'ending'`;
    return { asked };
  });
  expect(await answer.asked).toMatchObject([{ status: 'rejected' }]);
  await waitFor(async () => (await sessions()).length === 0);
  await close();
}

it.each([
  ['few rows', 1_000, 64],
  ['more', 9_000, 16],
  ['more than are loaded at once', 300_000, 1],
])('reads ahead by as much as is loaded at once: %s an hour', (_what, perHour, hours) => {
  const HOUR = DAY / 24;
  const [since, until] = [new Date(START), new Date(START + HOUR)];
  const longest = longestWindow({ since, until });
  expect(longest).toEqual({ since, until: new Date(START + 64 * HOUR) });
  const file = {
    path: '',
    table: 'audit_events',
    source: '',
    messageType: 'AUDIT_LOG_ALL',
    bytes: 1,
    sha256: '',
  } as const;
  const files = [0, 1].map((day) => ({
    ...file,
    rows: 24 * perHour,
    firstAt: new Date(START + day * DAY),
    lastAt: new Date(START + (day + 1) * DAY),
  }));
  expect(windowFor({ since, until }, files)).toEqual({ since, until: new Date(START + hours * HOUR) });
});

it('archiving rests after each part of its work while storing needs the processor', async () => {
  const restAfter = async (workMs: number) => {
    const giveWay = givingWay(test.service);
    const began = performance.now();
    while (performance.now() - began < workMs);
    const ended = performance.now();
    await giveWay();
    return performance.now() - ended;
  };
  expect(await restAfter(100)).toBeLessThan(500);
  await test.query`update log_state set next_position = next_position + 100000`;
  expect(await restAfter(100)).toBeGreaterThan(890);
  await test.query`update log_state set next_position = next_position - 100000`;
});
