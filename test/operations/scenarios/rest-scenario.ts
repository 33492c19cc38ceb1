import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { query } from '../../support/query.ts';
import { auditRecord } from '../../support/deliveries.ts';
import { SECRET } from '../../support/program.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openWholeFleet, type Fleet } from '../fleet.ts';
import { SHORT, type Ground } from '../ground.ts';
import type { OwnScenario } from '../scenario.ts';

/** What six processes may do in a second while nothing arrives. */
const MAX_PER_SECOND = { commits: 2.5, wakeUps: 250 };

/** From the answer to an event after a silence until it is at its destination: half of them. */
const MAX_MEDIAN_MS = 300;

/** What the start has left to do takes minutes, which the short form does not wait for. */
const LONG_FORM = { settleMs: 180_000, restMs: 300_000, events: 20, quietMs: 5_000, factor: 1 };
const SHORT_FORM = { settleMs: 20_000, restMs: 20_000, events: 9, quietMs: 4_000, factor: 5 };

/** The whole service while nothing arrives: what it costs, and how soon the next event leaves. */
export const REST: OwnScenario = { name: 'at rest', isAlone: true, run: rest };

async function rest(ground: Ground): ReturnType<OwnScenario['run']> {
  const form = ground.pace === SHORT ? SHORT_FORM : LONG_FORM;
  const { databaseUrl, fleet } = await openWholeFleet(ground);
  await ground.wait(form.settleMs);

  const before = await countWork(databaseUrl, fleet);
  await ground.wait(form.restMs);
  const after = await countWork(databaseUrl, fleet);
  const seconds = form.restMs / 1_000;
  const commits = (after.commits - before.commits) / seconds;
  const wakeUps = (after.wakeUps - before.wakeUps) / seconds;
  const megabytes = ((after.walBytes - before.walBytes) / seconds) * (3_600 / 1e6);

  const latencies: number[] = [];
  for (let number = 1; number <= form.events; number += 1) {
    await ground.wait(form.quietMs);
    latencies.push(await forwardOne(fleet, `rest-${number}`));
  }
  latencies.sort((one, other) => one - other);
  const median = latencies[Math.floor(latencies.length / 2)] ?? Infinity;
  return {
    wrongs: [
      ...(commits > MAX_PER_SECOND.commits * form.factor ? ['too many commits'] : []),
      ...(wakeUps > MAX_PER_SECOND.wakeUps * form.factor ? ['too many wake-ups'] : []),
      ...(median > MAX_MEDIAN_MS * form.factor ? ['events leave late'] : []),
    ],
    remark: `${commits.toFixed(1)} commits/s, ${wakeUps.toFixed(0)} wake-ups/s, ${megabytes.toFixed(1)} MB of WAL an hour; events left after ${median.toFixed(0)} ms at the median, ${latencies.at(-1)?.toFixed(0)} ms at most`,
  };
}

async function countWork(databaseUrl: string, { members }: Fleet) {
  const [work] = await query<{ commits: number; walBytes: number }>(
    databaseUrl,
    `select xact_commit::float8 as commits, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes"
     from pg_stat_database where datname = current_database()`,
  );
  const wakeUps = await Promise.all(members.map((member) => countWakeUps(member.pid())));
  return {
    commits: work?.commits ?? NaN,
    walBytes: work?.walBytes ?? NaN,
    wakeUps: wakeUps.reduce((sum, one) => sum + one, 0),
  };
}

/** How often the threads of a process have waited for something. */
async function countWakeUps(pid: number | undefined): Promise<number> {
  const tasks = `/proc/${pid}/task`;
  const states = await Promise.all(
    (await readdir(tasks)).map((task) => readFile(path.join(tasks, task, 'status'), 'utf8').catch(() => '')),
  );
  return states.reduce(
    (sum, state) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(state)?.[1] ?? 0),
    0,
  );
}

/** Sends an event, and resolves with the milliseconds from its answer to its arrival at the destination. */
async function forwardOne({ origin, forwardedFile = '' }: Fleet, userName: string): Promise<number> {
  const response = await fetch(`${origin}/ingest/default/AUDIT_LOG_ALL`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify(auditRecord({ userName })),
  });
  const answeredAt = performance.now();
  if (!response.ok) throw new Error(`an event was refused with ${response.status}`);
  const hasArrived = async () =>
    (await readFile(forwardedFile, 'utf8').catch(() => '')).includes(`"${userName}"`);
  await waitFor(hasArrived, 120_000);
  return performance.now() - answeredAt;
}
