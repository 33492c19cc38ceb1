import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postDelivery } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { attack, startAttacked, type Attacked } from './attacked.ts';
import { IS_SHORT, MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

const DELIVERIES = IS_SHORT ? 30 : 120;
const RECORDS = 5;

const directory = useDirectory();
let attacked: Attacked;
beforeAll(async () => {
  attacked = await startAttacked({ FORWARD_TO: `file://${path.join(directory, 'events.ndjson')}` });
});
afterAll(() => attacked.stop());

const compress = promisify(brotliCompress);

/** Records of nearly 2 MiB, of which a delivery has five and takes a kilobyte on its way. */
const bodyOf = (number: number) =>
  compress(
    JSON.stringify(
      Array.from({ length: RECORDS }, (_, index) => ({
        userName: 'big@example.com',
        description: `${number}-${index}${'x'.repeat(1_950_000)}`,
      })),
    ),
    { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } },
  );

async function flood(): Promise<void> {
  for (let number = 0; number < DELIVERIES; number += 1) {
    const headers = { 'content-encoding': 'br' };
    const body = await bodyOf(number);
    const response = await postDelivery(attacked.program, 'AUDIT_LOG_ALL', body, { headers });
    if (response.status === 503) number -= 1;
    else if (response.status !== 200) throw new Error(`a large record was answered ${response.status}`);
  }
}

const forwarded = async () => {
  const metrics = await (await fetch(`${attacked.program.adminUrl}/metrics`)).text();
  const sent = [...metrics.matchAll(/^xiq_sink_forward_sent_total\{.*\} (\d+)$/gm)];
  return sent.reduce((sum, [, count]) => sum + Number(count), 0);
};

async function floodUntilForwarded(): Promise<void> {
  await flood();
  const stored = async () => {
    const { rows } = await sql<{ large: number; all: number }>`
        select count(*) filter (where user_name = 'big@example.com')::int as large, count(*)::int as all
        from audit_log`.execute(attacked.database.db);
    return rows[0] ?? { large: 0, all: 0 };
  };
  await waitFor(async () => (await stored()).large === DELIVERIES * RECORDS, 300_000);
  const { all } = await stored();
  await waitFor(async () => (await forwarded()) >= all, 300_000);
}

const BEFORE = 'the process ended';

it(
  'hundreds of records of 2 MiB hurt nobody who forwards and verifies them',
  { timeout: 600_000 },
  async () => {
    const measured = await measureDeliveries(attacked.program, floodUntilForwarded());
    printMeasured('records of 2 MiB, stored, forwarded and verified', measured, BEFORE);
    expect(measured.p99).toBeLessThan(MOST_MS);
    // 515 MB, as after other large bodies in a row (docs/performance.md).
    expect(measured.memory).toBeLessThan(1.2 * MOST_MB);
  },
);

it.each(['/events', '/api/v1/events?limit=1000', '/api/v1/events/export?format=ndjson'])(
  'nor who reads %s',
  { timeout: 300_000 },
  async (page) => {
    const read = attack('read-page.ts', { url: attacked.program.adminUrl + page });
    const measured = await measureDeliveries(attacked.program, read);
    printMeasured(`${page}, ${await read} bytes`, measured, BEFORE);
    expect(measured.p99).toBeLessThan(MOST_MS);
    expect(measured.memory).toBeLessThan(MOST_MB);
  },
);
