import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { findProgram } from '../forward/real-receivers/find-program.ts';
import { useDirectory } from '../support/use-directory.ts';

const RULES = path.resolve(import.meta.dirname, '../../docs/alerts.yml');
const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), for: z.string().optional() })) })),
});
const rules = Rules.parse(parse(readFileSync(RULES, 'utf8'))).groups.flatMap((group) => group.rules);

const run = promisify(execFile);
const promtool = findProgram('promtool');
const directory = useDirectory();

/** Series in which nothing is wrong: the values of each minute, in the notation of Prometheus. */
const GOOD = {
  'up{job="xiq-sink",instance="a"}': '1+0x300',
  'xiq_sink_queue_works{instance="a"}': '1+0x300',
  'xiq_sink_data_dir_free_bytes{instance="a"}': '9000000000+0x300',
};

const TYPE = 'source="default",message_type="AUDIT_LOG_ALL"';
const always = (value: number) => `${value}+0x300`;

/** What is added, or in their place, for each alarm to fire. */
const BAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  XiqSinkDown: { 'up{job="xiq-sink",instance="a"}': always(0) },
  XiqSinkRefusesDeliveries: { 'xiq_sink_refused_total{instance="a",status="503"}': '0+1x300' },
  XiqSinkWrongSecrets: { 'xiq_sink_refused_total{instance="a",status="401"}': '0+60x300' },
  XiqSinkSlowAnswers: {
    'xiq_sink_answer_duration_seconds_bucket{instance="a",le="1"}': always(0),
    'xiq_sink_answer_duration_seconds_bucket{instance="a",le="5"}': '0+10x300',
    'xiq_sink_answer_duration_seconds_bucket{instance="a",le="+Inf"}': '0+10x300',
  },
  XiqSinkSpooling: { 'xiq_sink_queue_works{instance="a"}': always(0) },
  XiqSinkSpoolStands: { 'xiq_sink_spool_oldest_age_seconds{instance="a"}': always(4_000) },
  XiqSinkQueueStands: { 'xiq_sink_queue_oldest_job_age_seconds{instance="a"}': always(301) },
  XiqSinkQuarantine: { [`xiq_sink_quarantined_total{instance="a",${TYPE}}`]: '0+1x300' },
  XiqSinkDestinationBehind: { 'xiq_sink_forward_behind_seconds{destination="siem"}': always(901) },
  XiqSinkDestinationRefuses: { 'xiq_sink_forward_state{destination="siem",state="refused"}': always(1) },
  XiqSinkDestinationRejects: { 'xiq_sink_forward_rejected{destination="siem"}': always(1) },
  XiqSinkUnusuallyQuiet: { [`xiq_sink_silence_unusual{${TYPE}}`]: always(1) },
  XiqSinkWitnessedFork: { xiq_sink_witnessed_forks: always(1) },
  XiqSinkRowsDiffer: { 'xiq_sink_verify_findings{state="altered"}': always(1) },
  XiqSinkNotVerified: { xiq_sink_verify_age_seconds: always(172_801) },
  XiqSinkNotSealed: { xiq_sink_seal_behind_seconds: always(601) },
  XiqSinkDoesNotAddUp: { xiq_sink_conservation_unbalanced: always(1) },
  XiqSinkOutsidePartitions: { 'xiq_sink_default_partition_rows{partition="audit_events"}': always(1) },
  XiqSinkRetentionWaits: { xiq_sink_retention_overdue_partitions: always(1) },
  XiqSinkDiskFills: { 'xiq_sink_data_dir_free_bytes{instance="a"}': always(2_147_483_647) },
  XiqSinkBackupOld: { xiq_sink_backup_age_seconds: always(172_801) },
  XiqSinkSubscriptionsDrifted: { 'xiq_sink_subscriptions_drift{source="default"}': always(1) },
};

/** A test of promtool: which alarms fire at a minute, by these series. */
function ruleTest(series: Readonly<Record<string, string>>, minute: number, firing: readonly string[]) {
  const values = Object.entries({ ...GOOD, ...series });
  return {
    interval: '1m',
    input_series: values.map(([name, given]) => ({ series: name, values: given })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${minute}m`,
        exp_samples: firing.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
}

const minutesOf = (duration: string) => Number.parseInt(duration, 10) * (duration.endsWith('h') ? 60 : 1);

it('each alarm has series that make it fire', () => {
  expect(Object.keys(BAD).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

it.skipIf(promtool === undefined)('are valid, as promtool says', async () => {
  const { stdout } = await run(promtool ?? '', ['check', 'rules', RULES]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

it.skipIf(promtool === undefined)('fire alone and in time, and never while all is well', async () => {
  const tests = rules.flatMap(({ alert, for: held = '0m' }) => {
    const series = BAD[alert] ?? {};
    // Rates are of 15 minutes at most.
    const fires = ruleTest(series, minutesOf(held) + 20, [alert]);
    return held === '0m' ? [fires] : [fires, ruleTest(series, minutesOf(held) - 1, [])];
  });
  tests.push(ruleTest({}, 200, []));
  const file = path.join(directory, 'alerts.test.yml');
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  const { stdout } = await run(promtool ?? '', ['test', 'rules', file]);
  expect(stdout).toContain('SUCCESS');
});
