import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { BUILT_IN_RULES } from '../src/alerts/built-in-rules.ts';
import { auditRecord } from '../test/support/deliveries.ts';
import { runProgram, SECRET, startProgram, temporaryDirectory } from '../test/support/program.ts';
import { applyLoad } from './apply-load.ts';

/*
 * The time from the receipt of a delivery to its alert at a destination, with all built-in rules on, at half of the load
 * that the machine stores and evaluates. Run it on a machine that does nothing else: node bench/alert-latency.ts
 */

const FULL_SECONDS = 15;
const HALF_SECONDS = 60;
const EVERY_MS = 250;
const POLL_MS = 20;

const dataDir = await temporaryDirectory();
const file = path.join(dataDir, 'alerts.ndjson');
const config = path.join(dataDir, 'settings.yaml');
const marked = { name: 'marked', title: 'Marked', filter: { codes: [77_777] }, group_by: ['user_name'] };
await writeFile(
  config,
  JSON.stringify({
    destinations: [
      { name: 'file', type: 'file', path: file, format: 'json', filter: { rule_alerts: 'only' } },
    ],
    alerts: [marked, ...BUILT_IN_RULES.map(({ name }) => ({ use: name }))],
  }),
);
const settings = {
  ...(process.env['DATABASE_URL'] === undefined ? {} : { DATABASE_URL: process.env['DATABASE_URL'] }),
  DATA_DIR: dataDir,
  WEBHOOK_SECRET: SECRET,
  XIQ_SINK_CONFIG: config,
};
const program = await startProgram(settings);

/** The receipts by the mark of their delivery, and when their alerts were there. */
const receipts = new Map<string, number>();
const arrivals = new Map<string, number>();

async function mark(name: string): Promise<void> {
  const response = await fetch(`${program.url}/ingest/default/AUDIT_LOG_ALL`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify(auditRecord({ code: 77_777, userName: name })),
  });
  if (response.ok) receipts.set(name, Date.now());
}

async function look(): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '');
  for (const [name] of text.matchAll(/mark-\d+(?=")/g)) {
    if (!arrivals.has(name)) arrivals.set(name, Date.now());
  }
}

const Raised = z.object({
  group: z.object({ user_name: z.string() }),
  raisedAt: z.string().transform((text) => Date.parse(text)),
});

/** The times since the receipts, in milliseconds. */
function describe(what: string, at: ReadonlyMap<string, number>): string {
  const times = [...receipts]
    .map(([name, received]) => (at.get(name) ?? Infinity) - received)
    .toSorted((a, b) => a - b);
  const share = (part: number) => times[Math.ceil(times.length * part) - 1] ?? Number.NaN;
  return `${times.length} alerts ${what} after: p50 ${share(0.5)} ms, p99 ${share(0.99)} ms, slowest ${share(1)} ms`;
}

const load = (seconds: number, rate?: number) =>
  applyLoad(
    {
      origin: program.url,
      secret: SECRET,
      workload: 'audit-1',
      seconds,
      ...(rate !== undefined && { rate }),
    },
    AbortSignal.timeout(600_000),
  );

try {
  await load(5);
  const began = performance.now();
  const full = await load(FULL_SECONDS);
  // Deliveries are accepted faster than they are stored: the load counts as long as its last event takes.
  await mark('mark-0');
  while (!arrivals.has('mark-0')) await delay(POLL_MS).then(look);
  const perSecond = (full.acknowledged * 1_000) / (performance.now() - began);
  const half = load(HALF_SECONDS, Math.round(perSecond / 2));
  const end = performance.now() + HALF_SECONDS * 1_000;
  for (let number = 1; performance.now() < end; number += 1) {
    const next = performance.now() + EVERY_MS;
    await mark(`mark-${number}`);
    while (performance.now() < next) await delay(POLL_MS).then(look);
  }
  const { acknowledged, p99 } = await half;
  const until = performance.now() + 60_000;
  while (arrivals.size < receipts.size && performance.now() < until) await delay(POLL_MS).then(look);
  receipts.delete('mark-0');
  const listed = await runProgram(
    settings,
    'alerts',
    'list',
    '--rule',
    'marked',
    '--limit',
    '9999',
    '--json',
  );
  const raised = new Map(
    listed
      .trim()
      .split('\n')
      .map((line) => Raised.parse(JSON.parse(line)))
      .map(({ group, raisedAt }) => [group.user_name, raisedAt]),
  );
  console.log(
    `full load ${Math.round(perSecond)}/s, half ${Math.round(acknowledged / HALF_SECONDS)}/s (answers p99 ${p99} ms)`,
  );
  console.log(describe('raised', raised));
  console.log(describe('at the destination', arrivals));
} finally {
  await program.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
}
