import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/store/server/database.ts';
import type { Db } from '../src/store/server/database.ts';
import { exportLines } from '../src/store/events/export-events.ts';
import type { ExportFormat } from '../src/store/events/export-format.ts';
import { ALL_SOURCES } from '../src/store/server/scope.ts';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { readMemory } from './memory.ts';
import { createQuestions } from './search-questions.ts';
import type { Question } from './search-questions.ts';
import { seedEvents, SEEDED_DAYS } from './seed-events.ts';
import type { Seeded } from './seed-events.ts';

/** The times of one query. */
export interface Answered {
  readonly question: string;
  readonly times: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly slowest: number;
  /** The percentage of answers with results (for a histogram: of complete answers). */
  readonly found: number;
}

/** The results of one export. */
export interface ExportRun {
  readonly format: ExportFormat;
  readonly rows: number;
  readonly rowsPerSecond: number;
  readonly megabytes: number;
  readonly peakMemory: number;
}

/** The results of searches in a large database. */
export interface Searched {
  readonly seeded: Seeded;
  readonly answers: readonly Answered[];
  /** Peak resident memory of this process, which runs the queries, before the exports; in MB of 1,000,000 bytes. */
  readonly memory: number;
  readonly exports: readonly ExportRun[];
}

/** Kept between runs, because filling it takes minutes. */
const DIRECTORY = fileURLToPath(new URL('data/', import.meta.url));

const TIMES = 100;
const EXPORTED_ROWS = 1_000_000;
const DAY_MS = 86_400_000;
const MEMORY_INTERVAL_MS = 100;

/** Fills a database with this many events, unless an earlier run has, and measures searches and exports. */
export async function measureSearch(events: number, signal: AbortSignal): Promise<Searched> {
  const dataDir = path.join(DIRECTORY, `search-${events}`);
  await mkdir(dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres(dataDir);
  try {
    const seeded = await seedEvents(postgres.migrationUrl, events, signal);
    const db = openDatabase(postgres.databaseUrl, () => undefined);
    try {
      const answers: Answered[] = [];
      for (const question of await createQuestions(db, seeded, TIMES)) {
        console.error(`${question.name} ...`);
        answers.push(await answer(question, signal));
      }
      const { peak: memory } = await readMemory(process.pid);
      const exports: ExportRun[] = [];
      for (const format of ['csv', 'ndjson'] as const) {
        console.error(`export as ${format} ...`);
        exports.push(await runExport(db, seeded, format, signal));
      }
      return { seeded, answers, memory, exports };
    } finally {
      await db.destroy();
    }
  } finally {
    if (postgres.started) await postgres.stop();
  }
}

/** Asks a question so many times. */
export async function answer(
  { name, ask }: Question,
  signal: AbortSignal,
  count: number = TIMES,
): Promise<Answered> {
  const times: number[] = [];
  let found = 0;
  for (let time = 0; time < count; time += 1) {
    signal.throwIfAborted();
    const { milliseconds, isFound } = await ask(time);
    times.push(milliseconds);
    if (isFound) found += 1;
  }
  times.sort((a, b) => a - b);
  const percentile = (percent: number) => times[Math.ceil((percent * times.length) / 100) - 1] ?? 0;
  return {
    question: name,
    times: times.length,
    p50: percentile(50),
    p95: percentile(95),
    slowest: percentile(100),
    found: (100 * found) / times.length,
  };
}

async function runExport(
  db: Db,
  { events, until }: Seeded,
  format: ExportFormat,
  signal: AbortSignal,
): Promise<ExportRun> {
  // Slightly more than the required rows, because they are not spread evenly.
  const days = Math.min(SEEDED_DAYS, Math.ceil((1.1 * SEEDED_DAYS * EXPORTED_ROWS) / events) + 1);
  const since = new Date(until.getTime() - days * DAY_MS);
  let peakMemory = 0;
  const timer = setInterval(() => {
    peakMemory = Math.max(peakMemory, process.memoryUsage.rss() / 1e6);
  }, MEMORY_INTERVAL_MS);
  let rows = 0;
  let bytes = 0;
  const started = performance.now();
  const count = (more: number) => void (rows += more);
  for await (const text of exportLines(db, ALL_SOURCES, { since }, { format }, signal, count)) {
    bytes += Buffer.byteLength(text);
    if (rows >= EXPORTED_ROWS) break;
  }
  clearInterval(timer);
  const rowsPerSecond = (rows * 1_000) / (performance.now() - started);
  return { format, rows, rowsPerSecond, megabytes: bytes / 1e6, peakMemory };
}
