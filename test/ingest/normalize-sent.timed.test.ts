import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { normalizeSent } from '../../src/ingest/normalize-sent.ts';

const MIB = 1024 * 1024;

/** Reads a body of one record with this text. Resolves with the time in milliseconds. */
async function read(text: string): Promise<number> {
  const sent = Buffer.from(JSON.stringify([{ text }]));
  const began = performance.now();
  const { body } = await normalizeSent(
    { sent, encoding: undefined, source: 'a', messageType: 'AUDIT_LOG_ALL' },
    10 * MIB,
  );
  expect(body.recordCount).toBe(1);
  return performance.now() - began;
}

it('lets the sender of a body that hardly compresses wait for the time that it costs, and no other', async () => {
  await read('the thread is there'.repeat(MIB / 16));
  const random = randomBytes((3 * MIB * 3) / 4).toString('base64');
  // 2 MiB more than is free, at 4 KiB a millisecond.
  expect(await read(random)).toBeGreaterThan(500);
  expect(await read('a'.repeat(random.length))).toBeLessThan(250);
});
