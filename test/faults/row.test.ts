import { expect, test } from 'vitest';
import { formatRows, formatTotal } from './report.ts';
import { verdictOver, type Measured, type Row } from './row.ts';

const measured = (overrides: Partial<Measured> = {}): Measured => ({
  sent: 1_003,
  acknowledged: 1_000,
  quarantined: 1,
  refused: {},
  unanswered: 0,
  silenceMs: 2_500,
  p99Ms: 12,
  found: 1_001,
  lost: 0,
  doubled: 0,
  addsUp: true,
  seal: { intact: 1_200, unsealed: 0, findings: [] },
  ...overrides,
});

test('a refusal is right, unless the fault forbids it', () => {
  const refusing = measured({ refused: { 503: 1, 429: 1 } });
  expect(verdictOver({ forbids: ['lost', 'doubled'] }, refusing, []).verdict).toBe('ok');
  expect(verdictOver({ forbids: ['lost', 'refused'] }, refusing, [])).toMatchObject({
    verdict: 'FAILED',
    remark: '2 refused',
  });
});

test('a loss is wrong, unless it is documented', () => {
  const losing = measured({ lost: 3 });
  expect(verdictOver({ forbids: ['lost'] }, losing, [])).toMatchObject({
    verdict: 'FAILED',
    remark: '3 lost',
  });
  expect(verdictOver({ forbids: [] }, losing, [])).toMatchObject({ verdict: 'documented loss' });
});

test.each([
  ['counts that do not add up', measured({ addsUp: false }), []],
  ['a seal that does not catch up', measured({ seal: { intact: 0, unsealed: 1_200, findings: [] } }), []],
  [
    'a row that differs from its seal',
    measured({ seal: { intact: 1_199, unsealed: 0, findings: ['ALTERED event'] } }),
    [],
  ],
  ['a load that nobody took', measured({ acknowledged: 0 }), []],
  ['a program that ended by itself', measured(), ['ingest']],
])('%s is wrong under every fault', (_, result, crashed) => {
  expect(verdictOver({ forbids: [] }, result, crashed).verdict).toBe('FAILED');
});

test('the table has a line for each row, the total adds them', () => {
  const rows: Row[] = [
    { setUp: 'redis-queue', fault: 'kill-redis', verdict: 'ok', remark: '', measured: measured() },
    { setUp: 'redis-queue', fault: 'clock-jump', verdict: 'skipped', remark: 'libfaketime is not installed' },
  ];
  const [heading, killed, skipped] = formatRows(rows).split('\n');
  expect(heading).toMatch(/set-up +fault +sent +2xx/);
  expect(killed).toMatch(/redis-queue +kill-redis +1,003 +1,000 +1 +0 +0 +1,001 +0 +0 +1,200 +2\.5 +12 +ok/);
  expect(skipped).toMatch(/clock-jump +skipped: libfaketime is not installed/);
  expect(formatTotal(rows)).toBe(
    '2 rows, 1,003 deliveries sent, 1,001 found, 0 lost, 0 doubled; 0 rows failed',
  );
});
