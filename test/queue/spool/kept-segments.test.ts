import { readdir } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { createKeptSegments, type Found } from '../../../src/queue/spool/kept-segments.ts';
import { openSpool } from '../../../src/queue/spool/spool.ts';
import { newDirectory } from '../../support/use-directory.ts';

const logger = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;

/** A spool, a database server that is where the test says, and what is on the disk. */
async function open(keepMs: number, maxBytes = 1_000_000) {
  const directory = await newDirectory();
  const spool = openSpool({ directory, maxBytes, minFreeBytes: 0 }, logger);
  onTestFinished(() => spool.close());
  const server = { timeline: 1, bytes: 100n, replicatedBytes: undefined as bigint | undefined };
  const found = (): Found => ({ stored: new Set(), at: { ...server } });
  const kept = createKeptSegments(spool, async () => found(), keepMs, logger);
  /** Writes a segment and confirms it. */
  async function confirm(bytes = 10): Promise<string> {
    await spool.append(Buffer.alloc(bytes));
    const [segment = ''] = await spool.segments();
    await kept.review();
    await kept.confirm(segment, [found()]);
    return segment;
  }
  const onDisk = async () =>
    (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.segment')).length;
  return { spool, server, kept, confirm, onDisk, found };
}

it('removes a confirmed segment at once if nothing is to be kept', async () => {
  const { confirm, onDisk } = await open(0);
  await confirm();
  expect(await onDisk()).toBe(0);
});

it('keeps a confirmed segment on the disk, but not among those to drain', async () => {
  const { spool, kept, confirm, onDisk } = await open(HOUR_MS);
  await confirm();
  await kept.review();
  expect(await onDisk()).toBe(1);
  expect(await spool.segments()).toEqual([]);
  expect(spool.figures()).toEqual({ bytes: 0, segments: 0, oldestAt: undefined });
  // The segment that is being written is drained beside kept ones.
  await spool.append(Buffer.from('next'));
  expect(await spool.segments()).toHaveLength(1);
});

it('removes it once enough replicas have the commits, and not before', async () => {
  const { server, kept, confirm, onDisk } = await open(HOUR_MS);
  await confirm();
  server.bytes = 200n;
  server.replicatedBytes = 99n;
  await kept.review();
  expect(await onDisk()).toBe(1);
  server.replicatedBytes = 100n;
  await kept.review();
  expect(await onDisk()).toBe(0);
});

it('removes it after the time', async () => {
  const { kept, confirm, onDisk } = await open(1);
  await confirm();
  await expect.poll(async () => (await kept.review(), onDisk())).toBe(0);
});

it.each([
  ['of a new timeline', { timeline: 2, bytes: 500n }],
  ['that went back in the log', { timeline: 1, bytes: 99n }],
])('returns all kept segments to the spool at a server %s', async (_, change) => {
  const { spool, server, kept, confirm, onDisk } = await open(HOUR_MS);
  const segments = [await confirm(), await confirm()];
  Object.assign(server, change, { replicatedBytes: 1_000n });
  expect((await kept.review()).toSorted()).toEqual(segments.toSorted());
  expect(await spool.segments()).toEqual(segments.toSorted());
  expect(await kept.review()).toEqual([]);
  expect(await onDisk()).toBe(2);
});

it('does not believe a server other than the one of the review, nor a standby', async () => {
  const { spool, kept, found, onDisk } = await open(HOUR_MS);
  await spool.append(Buffer.from('x'));
  const [segment = ''] = await spool.segments();
  await kept.review();
  const another = { timeline: 2, bytes: 500n, replicatedBytes: undefined };
  await kept.confirm(segment, [found(), { stored: new Set(), at: another }]);
  await kept.confirm(segment, [{ stored: new Set(), at: undefined }]);
  expect(await spool.segments()).toEqual([segment]);
  let at: Found['at'] = found().at;
  const other = createKeptSegments(spool, async () => ({ stored: new Set(), at }), 1, logger);
  await other.review();
  await other.confirm(segment, [found()]);
  at = undefined;
  expect(await other.review()).toEqual([]);
  expect(await onDisk()).toBe(1);
});

it('gives up the oldest kept segments for new deliveries, never one that waits', async () => {
  const { spool, confirm, onDisk } = await open(HOUR_MS, 10_000);
  for (let count = 0; count < 3; count += 1) await confirm(3_000);
  expect(await onDisk()).toBe(3);
  await spool.append(Buffer.alloc(6_000));
  expect(await onDisk()).toBe(2);
  await expect(spool.append(Buffer.alloc(6_000))).rejects.toThrow(/the spool is full/);
  expect(spool.figures().bytes).toBeGreaterThan(6_000);
});
