import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { verifyNext } from '../../src/seal/verify/verify-in-turn.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { startObserving } from '../../src/serve/observation.ts';
import { countAll } from '../support/arrivals.ts';
import { storeAudits } from '../support/actions.ts';
import { emptyTables } from '../support/database.ts';
import { SECRET } from '../support/program.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { insertAudits } from '../support/stored-rows.ts';
import { freely } from '../support/tamper.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const docs = (name: string) => readFileSync(path.resolve(import.meta.dirname, '../../docs', name), 'utf8');

const test = useDatabase();

const store = () => storeAudits(test.db, {});

const verify = () => verifyNext(test.service, { intervalSeconds: 0, restSeconds: 0 });

const loseEvent = async () => {
  await freely(
    test.db,
    sql`delete from audit_events where event_id = (select min(event_id::text)::uuid from audit_events)`,
  );
  await verify();
};

/** What makes each alarm of the table fire. `DATA_DIR` may lie on another disk then. */
const FAULTS: Readonly<Record<string, () => Promise<unknown>>> = {
  XiqSinkRowsDiffer: loseEvent,
  XiqSinkDoesNotAddUp: loseEvent,
  XiqSinkNotVerified: () => test.query`update log_verifications set verified_at = now() - interval '3 days'`,
  async XiqSinkNotSealed() {
    await store();
    await untilSeen(test.service);
    await freely(test.db, sql`update deliveries set stored_at = now() - interval '20 minutes'`);
    await waitFor(() => fires('xiq_sink_seal_behind_events > 0'));
  },
  XiqSinkOutsidePartitions: () => insertAudits(test.db, { count: 1, occurredAt: new Date('2001-01-01') }),
  XiqSinkRetentionWaits: () => test.query`select create_month('audit_events', '2015-01-01')`,
  XiqSinkDiskFills: async () => {
    // A file system that has no space for anybody.
    dataDir = '/proc';
  },
  XiqSinkBackupOld: () =>
    test.query`insert into operator_log (operator, via, action, began_at)
      values ('ann', 'command', 'service.start', now() - interval '3 days')`,
};

let dataDir: string;
beforeEach(async () => {
  await emptyTables(test.db);
  await store();
  await countAll(test.service);
  const log = await openSealedLog(test.service);
  dataDir = log.directory;
  await log.seal();
  await verify();
});

const Rules = z.object({
  groups: z.tuple([z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })]),
});
const { rules } = Rules.parse(parse(docs('alerts.yml'))).groups[0];

const claims = [...docs('running.md').matchAll(/^\| .*? \| `(xiq_sink_\w+)` +\| `(\w+)` +\|/gm)].map(
  ([, metric = '', alarm = '']) => ({ metric, alarm }),
);

/** Whether a rule fires, by the metrics that a process of the embedded database exports now. */
async function fires(expr: string): Promise<boolean> {
  const [, metric = '', sign, limit] = /^(?:max(?: by \(\w+\))? ?\()?(\w+)\)? (>|<) (\d+)$/.exec(expr) ?? [];
  const config = loadSettings({
    DATA_DIR: dataDir,
    WEBHOOK_SECRET: SECRET,
    RETENTION_AUDIT_MONTHS: '1',
  });
  await using opened = new AsyncDisposableStack();
  const logger = pino({ level: 'silent' });
  const { metrics } = await startObserving({ config, role: 'worker', db: test.service, logger }, opened);
  const { text } = await metrics.render();
  expect(text).toContain(`# TYPE ${metric} `);
  const values = [...text.matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, value]) =>
    Number(value),
  );
  return values.some((value) => (sign === '>' ? value > Number(limit) : value < Number(limit)));
}

it('every claim has an alarm about its metric, and a fault here', () => {
  expect(claims.map(({ alarm }) => alarm).toSorted()).toEqual(Object.keys(FAULTS).toSorted());
  const exprs = new Map(rules.map(({ alert, expr }) => [alert, expr]));
  expect(claims.filter(({ metric, alarm }) => exprs.get(alarm)?.includes(metric) !== true)).toEqual([]);
});

it.each(claims)('$alarm fires when its claim does not hold, and not before', async ({ alarm }) => {
  const expr = rules.find(({ alert }) => alert === alarm)?.expr ?? '';
  expect(await fires(expr)).toBe(false);
  await FAULTS[alarm]?.();
  // A scrape leaves out what a busy database does not answer in time.
  await waitFor(() => fires(expr));
});
