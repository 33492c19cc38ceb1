import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { postDelivery } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { startAttacked, type Attacked } from './attacked.ts';
import { honestBody, observedBody, type HonestBody } from './honest-bodies.ts';
import { IS_SHORT, measureDeliveries, MOST_MB, MOST_MS } from './measure.ts';

const COUNTS = IS_SHORT ? [10_000] : [1, 1_000, 10_000, 35_000];

const BODIES: readonly HonestBody[] = [
  ...CLOUD_TYPES.flatMap((type, of) => COUNTS.map((count, at) => honestBody(type, count, of * 10 + at))),
  observedBody(746, 60, 200),
  observedBody(1, 88_000, 201),
];

let attacked: Attacked;
beforeAll(async () => {
  attacked = await startAttacked();
});
afterAll(() => attacked.stop());

const Receipt = z.object({ delivery_id: z.uuid(), records: z.number(), quarantined: z.number() });

async function post({ messageType, text }: HonestBody): Promise<z.infer<typeof Receipt>> {
  const response = await postDelivery(attacked.program, messageType, text);
  const answer: unknown = await response.json();
  return Receipt.parse(answer);
}

/** The counts of a delivery once it is stored. */
async function stored(deliveryId: string) {
  const find = () =>
    attacked.database.db
      .selectFrom('deliveries')
      .select(['record_count', 'event_count', 'duplicate_count', 'quarantined_count'])
      .where('delivery_id', '=', deliveryId)
      .executeTakeFirst();
  await waitFor(async () => (await find()) !== undefined, 200_000);
  return find();
}

it.each(BODIES.map((body): [number, string, HonestBody] => [body.records, body.messageType, body]))(
  'an honest body of %i records is stored, and holds up nobody: %s',
  async (_, messageType, body) => {
    const { records, rows, text } = body;
    expect(text.length).toBeLessThan(10 * 1024 * 1024);
    const began = performance.now();
    let [answered, done] = [0, 0];
    const send = async () => {
      const receipt = await post(body);
      answered = performance.now() - began;
      expect(receipt).toMatchObject({ records, quarantined: 0 });
      const counts = { record_count: records, event_count: rows, duplicate_count: 0, quarantined_count: 0 };
      expect(await stored(receipt.delivery_id)).toEqual(counts);
      done = performance.now() - began;
    };
    const { p99, memory } = await measureDeliveries(attacked.program, send());
    const size = `${records} records, ${rows} rows, ${(text.length / 1024 / 1024).toFixed(1)} MiB`;
    process.stdout.write(
      `${messageType}: ${size}: answered in ${answered.toFixed(0)} ms, stored in ${done.toFixed(0)} ms, ` +
        `good deliveries p99 ${p99.toFixed(0)} ms, memory ${memory.toFixed(0)} MB (before: 400 beyond 6,000 records)\n`,
    );
    // The first good delivery is sent after 50 ms: beside a small body there may be none.
    expect(Number.isNaN(p99) ? 0 : p99).toBeLessThan(MOST_MS);
    expect(memory).toBeLessThan(MOST_MB);
  },
  300_000,
);
