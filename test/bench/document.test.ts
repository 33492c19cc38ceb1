import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Budget } from '../../bench/budget.ts';
import { fillPage } from '../../bench/document.ts';
import { formatBudget } from '../../bench/report.ts';

const machine = {
  cpu: 'Processor',
  cores: 2,
  memoryGb: 8,
  system: 'Linux 6',
  node: '24.0.0',
  postgres: '18.0',
  redis: '8.0',
  fluentBit: undefined,
  sender: 'wrk',
} as const;

const budget: Budget = {
  target: 'redis',
  workload: 'audit-1',
  deliveries: 10_000,
  deliveriesPerSecond: 1_234,
  program: 30,
  parts: [
    { name: 'src/ingest', microseconds: 20 },
    { name: 'JSON', microseconds: 10 },
  ],
  threads: [{ name: 'MainThread', microseconds: 30 }],
  others: [{ name: 'Postgres', microseconds: 10 }],
  functions: [
    { name: 'receiveDelivery', part: 'src/ingest', at: 'src/ingest/receive-delivery.ts:7', microseconds: 12 },
  ],
};

test('the table shows the program, its parts, the other processes, and the sum', () => {
  const report = formatBudget(budget);
  expect(report).toMatch(/^xiq-sink +30\.0 +75\.0 %$/m);
  expect(report).toMatch(/^- src\/ingest +20\.0 +50\.0 %$/m);
  expect(report).toMatch(/^Postgres +10\.0 +25\.0 %$/m);
  expect(report).toMatch(/^all +40\.0 +100\.0 %$/m);
  expect(report).toMatch(/^receiveDelivery +12\.0 +src\/ingest/m);
});

test('figures of a machine that others used are called provisional', () => {
  const page = '<!-- budget -->\n<!-- end of budget -->';
  const shared = { ...budget, others: [{ name: 'rest of the machine', microseconds: 100 }] };
  expect(fillPage(page, machine, [shared], new Date(0))).toContain('provisional');
  expect(fillPage(page, machine, [budget], new Date(0))).not.toContain('provisional');
});

test('docs/performance.md gets a table with a column for each measurement', () => {
  const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');
  const embedded: Budget = { ...budget, target: 'embedded', parts: [{ name: 'zod', microseconds: 30 }] };
  const filled = fillPage(page, machine, [budget, embedded], new Date('2026-01-02T03:04:05Z'));
  expect(filled).toContain('Measured on 2026-01-02: Processor, 2 cores');
  expect(filled).toContain('|  | audit-1, xiq-sink on Redis | audit-1, xiq-sink on its embedded database |');
  expect(filled).toContain('| - JSON | 10.0 |  |');
  expect(filled).toContain('| - zod |  | 30.0 |');
  expect(filled).toContain('| deliveries/s | 1,234 | 1,234 |');
  expect(filled.indexOf('| - zod')).toBeLessThan(filled.indexOf('| Postgres'));
  // The rest of the page stays, and filling it again replaces the table.
  expect(filled).toContain('## Sizing');
  expect(fillPage(filled, machine, [budget], new Date(0))).not.toContain('zod');
});
