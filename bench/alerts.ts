import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { alertRuleSchema } from '../src/alerts/alert-rule.ts';
import { backtestRule } from '../src/alerts/backtest-rule.ts';
import { BUILT_IN_RULES } from '../src/alerts/built-in-rules.ts';
import { openDatabase } from '../src/store/server/database.ts';
import { ALL_SOURCES } from '../src/store/server/scope.ts';
import { seedEvents, SEEDED_DAYS } from './seed-events.ts';

/*
 * The time that the backtest of each built-in rule takes over 10,000,000 events of a year, without any cache of its own.
 * Filling the database takes minutes once: node bench/alerts.ts [EVENTS]
 */

const events = Number(process.argv[2] ?? 10_000_000);
const DAY_MS = 86_400_000;

const dataDir = path.join(fileURLToPath(new URL('data/', import.meta.url)), `search-${events}`);
await mkdir(dataDir, { recursive: true });
const postgres = await startEmbeddedPostgres(dataDir);
const signal = AbortSignal.timeout(3_600_000);
const db = openDatabase(postgres.databaseUrl, () => undefined);
try {
  const { until } = await seedEvents(postgres.migrationUrl, events, signal);
  const since = new Date(until.getTime() - SEEDED_DAYS * DAY_MS);
  for (const given of BUILT_IN_RULES) {
    let read = 0;
    let alerts = 0;
    const began = performance.now();
    const rule = alertRuleSchema.parse(given);
    for await (const _ of backtestRule(db, ALL_SOURCES, rule, { since, until }, signal, () => (read += 1))) {
      alerts += 1;
    }
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`${rule.name.padEnd(26)} ${seconds.padStart(6)} s  ${read} events read, ${alerts} alerts`);
  }
} finally {
  await db.destroy();
  await postgres.stop();
}
