import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { useDatabase } from '../support/use-database.ts';
import { SECRET } from '../support/program.ts';
import { startLocally, type LocalService } from '../support/service.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const docs = (name: string) => readFileSync(path.resolve(import.meta.dirname, '../../docs', name), 'utf8');

interface Described {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** The metrics of the page, by its table. */
const documented = docs('metrics.md')
  .split('\n')
  .flatMap((line): (Described & { labels: string[] })[] => {
    const [, name, type = '', labels = '', help = ''] =
      /^\| `(xiq_sink_\w+)` *\| (\w+) *\| ([`\w, ]*?) *\| (.*?) *\|$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ name, type, help, labels: labels.match(/\w+/g) ?? [] }];
  });

const database = useDatabase();
const directory = useDirectory();
let service: LocalService;
let text: string;

/** The whole service, with a destination, after it has stored, quarantined and refused something. */
beforeAll(async () => {
  service = await startLocally({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    FORWARD_TO: `file://${directory}/out.jsonl`,
  });
  const post = async (source: string, body: string) => {
    const headers = { authorization: `Bearer ${SECRET}` };
    const url = `${service.url}/ingest/${source}/AUDIT_LOG_ALL`;
    await fetch(url, { method: 'POST', headers, body });
  };
  await post('default', '[{"id":1},{"id":2},3]');
  await post('default', 'no JSON');
  await post('made-up', '{}');
  text = await waitFor(async () => {
    const scraped = await (await fetch(`${service.adminUrl}/metrics`)).text();
    return scraped.includes('xiq_sink_quarantined_total{source="default",message_type="AUDIT_LOG_ALL"} 2') &&
      scraped.includes('xiq_sink_forward_sent_total{destination="default"} 2')
      ? scraped
      : undefined;
  });
});
afterAll(() => service.stop());

const shown = () =>
  [...text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name = '', help = '', type = '']): Described => ({ name, type, help }),
  );

const byName = (a: Described, b: Described) => (a.name < b.name ? -1 : 1);

it('the metrics have what came, what was answered, and what became of it', () => {
  const of = '{source="default",message_type="AUDIT_LOG_ALL"}';
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      `xiq_sink_deliveries_total${of} 2`,
      `xiq_sink_records_total${of} 4`,
      'xiq_sink_received_bytes_total 28',
      'xiq_sink_refused_total{status="401"} 1',
      'xiq_sink_answer_duration_seconds_count 2',
      `xiq_sink_events_stored_total${of} 2`,
      // The series begins before its first one.
      `xiq_sink_duplicates_total${of} 0`,
      `xiq_sink_quarantined_total${of} 2`,
    ]),
  );
  expect(text).toMatch(/^xiq_sink_build_info\{version="[\d.]+",role="all"\} 1$/m);
});

describe('the page about metrics', () => {
  it('has all metrics that the running program shows, and no others, each with its type and meaning', () => {
    const ours = shown().filter(({ name }) => name.startsWith('xiq_sink_'));
    expect(ours.length).toBeGreaterThan(25);
    expect(documented.map(({ name, type, help }) => ({ name, type, help })).toSorted(byName)).toEqual(
      ours.toSorted(byName),
    );
  });

  it('is right that all others are figures of the process', () => {
    const others = shown().filter(({ name }) => !name.startsWith('xiq_sink_'));
    expect(others.filter(({ name }) => !/^(?:process|nodejs)_/.test(name))).toEqual([]);
  });

  it('has the labels that the samples carry', () => {
    const samples = [...text.matchAll(/^(xiq_sink_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} /gm)];
    const wrong = samples.filter(([, name = '', labels = '']) => {
      const found = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((l) => l !== 'le');
      const { labels: right = [] } = documented.find((metric) => metric.name === name) ?? {};
      return found.join() !== right.join();
    });
    expect(samples.length).toBeGreaterThan(20);
    expect(wrong.map(([line]) => line)).toEqual([]);
  });
});

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ summary: z.string() }) }),
      ),
    }),
  ),
});
const rules = Rules.parse(parse(docs('alerts.yml'))).groups.flatMap((group) => group.rules);

it.each(rules)('the rule for $alert asks for metrics and labels that there are', ({ expr, annotations }) => {
  const shownLabels = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)];
  expect(unknownIn(expr, shownLabels)).toEqual([]);
});

/** What an expression, or the labels of a text beside it, names that no metric has. */
function unknownIn(expr: string, shownLabels: readonly RegExpExecArray[]): string[] {
  const asked = expr.match(/\bxiq_sink_\w+/g) ?? [];
  const metrics = asked.map((name) =>
    documented.find((metric) => metric.name === name || `${metric.name}_bucket` === name),
  );
  const labels = new Set(['job', 'instance', 'le', ...metrics.flatMap((metric) => metric?.labels ?? [])]);
  const used = [
    ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
    ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
    ...shownLabels.map(([, label = '']) => label),
  ];
  return [
    ...asked.filter((_name, index) => metrics[index] === undefined),
    ...used.filter((label) => !labels.has(label)),
    ...(expr.split('(').length === expr.split(')').length ? [] : ['a bracket']),
  ];
}

const Dashboard = z.object({
  panels: z.array(
    z.object({
      type: z.enum(['row', 'timeseries']),
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
    }),
  ),
});

describe('the dashboard', () => {
  const { panels } = Dashboard.parse(
    JSON.parse(
      readFileSync(path.resolve(import.meta.dirname, '../../integrations/grafana/dashboard.json'), 'utf8'),
    ),
  );

  it('has a row for each part', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual(['Receiving', 'Storing', 'Forwarding', 'Sealing', 'Coverage', 'Disk']);
  });

  it.each(panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target }))))(
    'asks in "$title" for metrics and labels that there are: $legendFormat',
    ({ expr, legendFormat }) => {
      expect(unknownIn(expr, [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)])).toEqual([]);
    },
  );
});
