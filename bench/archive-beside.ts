import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rm } from 'node:fs/promises';
import { addMonths } from '../src/store/partitions/partitioned-tables.ts';
import { PROGRAM, SECRET, startProgram } from '../test/support/program.ts';
import { applyLoad } from './apply-load.ts';
import { fullDirectory, newDirectory, prepareFull } from './beside-database.ts';
import { readMemory } from './memory.ts';
import { startOf } from './seed-events.ts';

/*
 * What archiving costs beside a full load: answers and memory without and with `xiq-sink archive`, which moves ten of the
 * twelve months of so many events. Run it on a machine that does nothing else: node bench/archive-beside.ts [EVENTS]
 */

const EVENTS = Number(process.argv[2] ?? 1_000_000);
const SECONDS = 30;
const SAMPLE_MS = 250;

const signal = AbortSignal.timeout(60 * 60_000);
const seeded = await prepareFull(EVENTS, signal);
const dataDir = newDirectory();
await cp(fullDirectory(EVENTS), dataDir, { recursive: true, preserveTimestamps: true });
const settings = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, WEBHOOK_SECRET: SECRET };
const program = await startProgram(settings);
try {
  const load = () =>
    applyLoad({ origin: program.url, secret: SECRET, workload: 'audit-1', seconds: SECONDS }, signal);
  await load();
  const alone = await load();
  const before = addMonths(startOf(seeded), 11).toISOString().slice(0, 7);
  const archiving = spawn(PROGRAM, ['archive', '--before', before], { env: settings, stdio: 'inherit' });
  const began = performance.now();
  const ended = once(archiving, 'exit').then(() => (performance.now() - began) / 1_000);
  const peaks = new Map<number, number>();
  const watch = setInterval(() => void noteMemory(archiving.pid ?? 0, peaks), SAMPLE_MS);
  const beside = await load();
  const isStill = archiving.exitCode === null;
  const seconds = await ended;
  clearInterval(watch);
  for (const [name, { p50, p99, acknowledged, refused }] of Object.entries({ alone, beside })) {
    console.log(
      `${name}: ${Math.round(acknowledged / SECONDS)} deliveries/s, p50 ${p50} ms, p99 ${p99} ms, refused ${refused}`,
    );
  }
  console.log(
    `p99 beside / alone: ${(beside.p99 / alone.p99).toFixed(2)}${isStill ? '' : ' (archiving ended sooner)'}`,
  );
  console.log(`archive exited with ${archiving.exitCode} after ${seconds.toFixed(0)} s`);
  console.log(
    `peak MB of its processes: ${[...peaks.values()].map(Math.round).join(', ')}; of serve: ${Math.round((await readMemory(program.pid)).peak)}`,
  );
} finally {
  await program.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
}

/** Notes the memory of a process and of its descendants. */
async function noteMemory(pid: number, peaks: Map<number, number>): Promise<void> {
  const [children = '', memory] = await Promise.all([
    readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined),
    readMemory(pid).catch(() => undefined),
  ]);
  if (memory !== undefined) peaks.set(pid, memory.peak);
  for (const child of children.split(' ').filter(Boolean)) await noteMemory(Number(child), peaks);
}
