import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { openArchiveDatabase } from '../src/archive/archive-database.ts';
import { Engine } from '../src/archive/engine.ts';
import { DirectoryFiles } from '../src/archive/files/directory-files.ts';
import { SERVICE } from '../src/embedded/credentials.ts';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { readColumns } from '../src/store/archive/archive-tables.ts';
import { addFiles, hasArchive, markArchived, type NewFile } from '../src/store/archive/archived-files.ts';
import { openDatabase, type Db } from '../src/store/server/database.ts';
import { migrateStore } from '../src/store/server/schema/migrate.ts';
import { PRESENT, writeDays, WRITTEN_TYPES, type WrittenTypeName } from './archive-files.ts';
import { readMemory } from './memory.ts';
import { answer, type Answered } from './search.ts';

/** How fast questions about a year are that is in the archive. */
export interface ArchiveRead {
  readonly rows: Readonly<Record<WrittenTypeName, number>>;
  readonly answers: readonly Answered[];
  /** Peak resident memory, in MB. */
  readonly memory: { readonly program: number; readonly engine: number };
}

/** Kept between runs, because writing 10^8 events takes half an hour. */
const DIRECTORY = fileURLToPath(new URL('data/', import.meta.url));

const FIRST = new Date('2025-01-01T00:00:00Z');
const DAYS = 365;
const DAY_MS = 86_400_000;
const TIMES = 40;

/** For each location event, so many log entries. */
const LOGS = 0.1;

/** Fills an archive with this many location events of a year, and with log entries, unless an earlier run has. */
export async function measureArchive(events: number, signal: AbortSignal): Promise<ArchiveRead> {
  const dataDir = path.join(DIRECTORY, `archive-${events}`);
  const directory = path.join(dataDir, 'archive');
  await mkdir(directory, { recursive: true });
  const postgres = await startEmbeddedPostgres(dataDir);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => {
    if (postgres.started) await postgres.stop();
  });
  await migrate(postgres.migrationUrl);
  const db = openDatabase(postgres.databaseUrl, () => undefined);
  stack.defer(() => db.destroy());
  const rows = { LOCATION_AP_CENTRIC: events, AUTHENTICATION_LOG_ALL: Math.round(events * LOGS) };
  if (!(await hasArchive(db))) {
    await fill(db, directory, 'LOCATION_AP_CENTRIC', rows.LOCATION_AP_CENTRIC, signal);
    await fill(db, directory, 'AUTHENTICATION_LOG_ALL', rows.AUTHENTICATION_LOG_ALL, signal);
  }
  const engine = stack.use(new Engine(directory));
  const access = { db, databaseUrl: postgres.databaseUrl, files: new DirectoryFiles(directory), engine };
  const archive = openArchiveDatabase(access);
  stack.defer(() => archive.close());
  const answers: Answered[] = [];
  for (const [name, ask] of QUESTIONS) {
    console.error(`${name} ...`);
    const timed = async () => {
      const began = performance.now();
      const { rows: found } = await sql.raw(ask()).execute(archive.db);
      return { milliseconds: performance.now() - began, isFound: found.length > 0 };
    };
    // The first one opens the session.
    await timed();
    answers.push(await answer({ name, ask: timed }, signal, TIMES));
  }
  const memory = { program: (await readMemory(process.pid)).peak, engine: await peakOfEngine() };
  return { rows, answers, memory };
}

async function migrate(url: string): Promise<void> {
  const db = openDatabase(url, () => undefined);
  try {
    await migrateStore(db, undefined, undefined, SERVICE);
  } finally {
    await db.destroy();
  }
}

async function fill(db: Db, directory: string, type: WrittenTypeName, events: number, signal: AbortSignal) {
  const columns = await readColumns(db, WRITTEN_TYPES[type].table);
  const files: NewFile[] = [];
  const span = { first: FIRST, days: DAYS, rows: Math.ceil(events / DAYS) };
  for await (const file of writeDays(directory, type, columns, span)) {
    signal.throwIfAborted();
    files.push(file);
    if (files.length % 10 === 0) console.error(`${type}: wrote ${files.length} of ${DAYS} days`);
  }
  const ids = await addFiles(db, files);
  await db.transaction().execute(async (trx) => markArchived(trx, ids));
}

const oneOf = (count: number) => Math.floor(Math.random() * count);

function drawnClient(): string {
  const number = ((oneOf(PRESENT.clients) * 7919) % 2 ** 24).toString(16).padStart(6, '0');
  return `f0:d1:a9:${number.slice(0, 2)}:${number.slice(2, 4)}:${number.slice(4)}`;
}

/** From within the first day: what an earlier question has read is not what this one needs. */
const sinceFirstDay = () =>
  `occurred_at >= '${new Date(FIRST.getTime() + oneOf(DAY_MS)).toISOString()}' and occurred_at < '2026-01-01'`;

const QUESTIONS: readonly (readonly [string, () => string])[] = [
  [
    'the events of a client in a year',
    () =>
      `select * from location_ap_centric where client_mac = '${drawnClient()}' and ${sinceFirstDay()} order by occurred_at`,
  ],
  [
    'the logins of a user in a year',
    () =>
      `select * from authentication_log where username = 'user${oneOf(PRESENT.users)}@example.com' and ${sinceFirstDay()} order by occurred_at`,
  ],
  [
    'failed logins of a year by SSID',
    () =>
      `select ssid, count(*) from authentication_log where reply = 'Access-Reject' and ${sinceFirstDay()} group by ssid order by 2 desc`,
  ],
  [
    'location events of a year by day',
    () =>
      `select date_trunc('day', occurred_at), count(*) from location_ap_centric where ${sinceFirstDay()} group by 1 order by 1`,
  ],
  [
    'location events of a year by SSID',
    () =>
      `select ssid, count(*) from location_ap_centric where ${sinceFirstDay()} group by 1 order by 2 desc`,
  ],
];

/** Of the only process that this one has started for it (Linux). */
async function peakOfEngine(): Promise<number> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').catch(
    () => '',
  );
  const peaks = await Promise.all(
    children
      .trim()
      .split(' ')
      .map(async (pid) => {
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        return command.includes('engine-process') ? (await readMemory(Number(pid))).peak : 0;
      }),
  );
  return Math.max(...peaks);
}
