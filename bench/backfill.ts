import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { PROGRAM, SECRET, startProgram, temporaryDirectory } from '../test/support/program.ts';
import { applyLoad } from './apply-load.ts';

/*
 * Latency of answers at 500 deliveries a second, alone and beside a backfill of a day of 200,000 audit events that no
 * webhook brought. Run it on a machine that does nothing else: node bench/backfill.ts
 */

const EVENTS = 200_000;
const RATE = 500;
const QUIET_SECONDS = 60;
const DAY_MS = 24 * 60 * 60 * 1000;
const BEGIN = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;

const execute = promisify(execFile);

/** A log of a day, whose pages cost this process as little as possible. */
const cloud = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://cloud');
  const [from, to, page, limit] = ['startTime', 'endTime', 'page', 'limit'].map((name) =>
    Number(searchParams.get(name)),
  );
  const first = indexAt(from ?? 0);
  const end = indexAt((to ?? 0) + 1);
  const begin = first + ((page ?? 1) - 1) * (limit ?? 100);
  const data = Array.from({ length: Math.max(0, Math.min(end - begin, limit ?? 100)) }, (_, index) =>
    recordAt(begin + index),
  );
  const body = { page, count: data.length, total_pages: Math.ceil((end - first) / (limit ?? 100)), data };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});

const indexAt = (time: number) =>
  Math.min(EVENTS, Math.max(0, Math.ceil(((time - BEGIN) / DAY_MS) * EVENTS)));

const recordAt = (index: number) => ({
  id: index + 1,
  timestamp: BEGIN + Math.floor((index / EVENTS) * DAY_MS),
  category: 'CONFIG',
  user_id: 7_000 + (index % 50),
  code: 40_001,
  username: `admin${index % 50}@example.com`,
  vhm_name: 'VHM-EXAMPLE',
  parameters: null,
  org_id: 12,
  description: `Device ${index % 400} was changed by the policy of the site ${index % 13}`,
});

await new Promise<void>((resolve) => void cloud.listen(0, '127.0.0.1', resolve));
const address = cloud.address();
if (typeof address !== 'object' || address === null) throw new Error('the log has no address');
const dataDir = await temporaryDirectory();
const settings = {
  ...(process.env['DATABASE_URL'] === undefined ? {} : { DATABASE_URL: process.env['DATABASE_URL'] }),
  DATA_DIR: dataDir,
  WEBHOOK_SECRET: SECRET,
  CLOUD_API_URL: `http://127.0.0.1:${address.port}`,
  CLOUD_API_TOKEN: 'a-token-of-the-benchmark',
  HISTORY: 'off',
};
const program = await startProgram(settings);
try {
  const load = (seconds: number) =>
    applyLoad(
      { origin: program.url, secret: SECRET, workload: 'audit-1', seconds, rate: RATE },
      AbortSignal.timeout(20 * 60_000),
    );
  await load(10);
  const quiet = await load(QUIET_SECONDS);
  const began = performance.now();
  const range = ['--since', new Date(BEGIN).toISOString(), '--until', new Date(BEGIN + DAY_MS).toISOString()];
  const backfill = execute(PROGRAM, ['backfill', ...range, '--types', 'AUDIT_LOG_ALL', '--json'], {
    env: { PATH: process.env['PATH'], ...settings },
  }).then(({ stdout }) => ({ stdout: stdout.trim(), seconds: (performance.now() - began) / 1_000 }));
  const beside = await load(QUIET_SECONDS);
  const { stdout, seconds } = await backfill;
  console.log(`quiet   p50 ${quiet.p50} ms, p99 ${quiet.p99} ms, refused ${quiet.refused}`);
  console.log(`beside  p50 ${beside.p50} ms, p99 ${beside.p99} ms, refused ${beside.refused}`);
  console.log(`backfill of ${EVENTS} events in ${Math.round(seconds)} s: ${stdout}`);
} finally {
  await program.end('SIGTERM');
  cloud.close();
  cloud.closeAllConnections();
  await rm(dataDir, { recursive: true, force: true });
}
