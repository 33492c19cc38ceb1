import { appendFile, cp, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { rm, stat, utimes, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { freeBytes } from '../../../src/lib/files/free-bytes.ts';
import os from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { OutageError } from '../../../src/lib/errors.ts';
import { checkWritable, inspectSpool } from '../../../src/queue/spool/inspect-spool.ts';
import { framePayload } from '../../../src/queue/spool/segment-file.ts';
import { openSpool, type Spool } from '../../../src/queue/spool/spool.ts';
import { newDirectory } from '../../support/use-directory.ts';

const MIB = 1024 * 1024;

const opened: Spool[] = [];
afterEach(async () => {
  for (const spool of opened.splice(0)) await spool.close();
});

function open(directory: string, limits: { maxBytes?: number; minFreeBytes?: number } = {}) {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => void lines.push(line) });
  const spool = openSpool({ directory, maxBytes: 100 * MIB, minFreeBytes: 0, ...limits }, logger);
  opened.push(spool);
  return { spool, log: () => lines.join('') };
}

async function filesIn(directory: string, suffix: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true });
  return entries.filter((name) => name.endsWith(suffix)).map((name) => path.join(directory, name));
}

/** Makes the owners of all directories look as if they had died. */
async function killOwners(directory: string): Promise<void> {
  const longAgo = new Date(Date.now() - 60_000);
  for (const owner of await filesIn(directory, 'owner')) await utimes(owner, longAgo, longAgo);
}

/** The payloads of a segment, as text. */
const textsOf = async (spool: Spool, segment: string) => ((await spool.read(segment)) ?? []).map(String);

/** Takes everything out of the spool, as text, in the order of replay. */
async function drain(spool: Spool): Promise<string[]> {
  const taken: string[] = [];
  for (let segments = await spool.segments(); segments.length > 0; segments = await spool.segments()) {
    for (const segment of segments) {
      taken.push(...(await textsOf(spool, segment)));
      await spool.remove(segment);
    }
  }
  return taken;
}

const appendAll = (spool: Spool, texts: readonly string[]) =>
  Promise.all(texts.map((text) => spool.append(Buffer.from(text))));

describe('the spool', () => {
  it('writes nothing before the first payload, and leaves nothing once all is replayed', async () => {
    const directory = await newDirectory();
    const { spool } = open(directory);
    expect(await spool.segments()).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
    await appendAll(spool, ['a', 'b', 'c']);
    expect(await drain(spool)).toEqual(['a', 'b', 'c']);
    expect(spool.bytes).toBe(0);
    await spool.close();
    expect(await readdir(directory)).toEqual([]);
  });

  it('tells what it holds, since when, and how much room is left', async () => {
    const { spool } = open(await newDirectory(), { maxBytes: 6 * MIB });
    expect(spool.figures()).toEqual({ bytes: 0, segments: 0, oldestAt: undefined });
    expect(await spool.room()).toEqual({ state: 'ok', bytesLeft: 6 * MIB });
    const before = Date.now();
    const payload = Buffer.alloc(2.45 * MIB, 'x');
    await spool.append(payload);
    const { bytes, segments, oldestAt } = spool.figures();
    expect([bytes > payload.length, segments]).toEqual([true, 1]);
    expect(oldestAt).toBeGreaterThanOrEqual(before);
    expect(oldestAt).toBeLessThanOrEqual(Date.now());
    expect((await spool.room()).state).toBe('ok');
    await spool.append(payload);
    expect((await spool.room()).state).toBe('nearly full');
    await spool.append(Buffer.alloc(MIB / 4, 'x'));
    expect((await spool.room()).state).toBe('full');
    await drain(spool);
    expect(spool.figures()).toEqual({ bytes: 0, segments: 0, oldestAt: undefined });
    expect((await spool.room()).state).toBe('ok');
  });

  it('is for its owner alone', async () => {
    const directory = await newDirectory();
    const { spool } = open(path.join(directory, 'spool'));
    await appendAll(spool, ['x']);
    const modes = await readdir(directory, { recursive: true, withFileTypes: true });
    expect(modes.length).toBeGreaterThan(2);
    for (const entry of modes) {
      const { mode } = await stat(path.join(entry.parentPath, entry.name));
      expect(mode & 0o077).toBe(0);
    }
  });

  it('keeps to SPOOL_MAX_BYTES, and takes more once something is replayed', async () => {
    const { spool } = open(await newDirectory(), { maxBytes: 3 * MIB });
    const payload = Buffer.alloc(MIB, 'x');
    await spool.append(payload);
    await spool.append(payload);
    await expect(spool.append(payload)).rejects.toThrow(/SPOOL_MAX_BYTES/);
    await expect(spool.append(payload)).rejects.toBeInstanceOf(OutageError);
    await drain(spool);
    await spool.append(payload);
  });

  it('leaves SPOOL_MIN_FREE_BYTES free on the disk', async () => {
    const { spool } = open(await newDirectory(), { minFreeBytes: 2 ** 50 });
    await expect(spool.append(Buffer.from('x'))).rejects.toThrow(/SPOOL_MIN_FREE_BYTES/);
    await expect(spool.check()).rejects.toBeInstanceOf(OutageError);
  });

  it('leaves so much free after a batch, too', async () => {
    const directory = await newDirectory();
    const { spool } = open(directory, { minFreeBytes: (await freeBytes(directory)) - 30 * MIB });
    await expect(spool.append(Buffer.alloc(95 * MIB))).rejects.toThrow(/SPOOL_MIN_FREE_BYTES/);
  });

  it('refuses where something else is in its place, and takes payloads when that is gone', async () => {
    const directory = path.join(await newDirectory(), 'spool');
    await writeFile(directory, 'a file');
    const { spool } = open(directory);
    await expect(spool.append(Buffer.from('x'))).rejects.toThrow("can't write to the spool");
    await rm(directory);
    await spool.append(Buffer.from('y'));
    expect(await drain(spool)).toEqual(['y']);
  });

  it('sets a damaged record aside in a file, replays the others, and says so', async () => {
    const directory = await newDirectory();
    const { spool, log } = open(directory);
    await spool.append(Buffer.from('first'));
    await spool.append(Buffer.from('second'));
    await spool.append(Buffer.from('third'));
    const [file = ''] = await filesIn(directory, '.segment');
    const bytes = await readFile(file);
    bytes.write('SECOND', bytes.indexOf('second'));
    await writeFile(file, bytes);
    expect(await drain(spool)).toEqual(['first', 'third']);
    const [corrupt = ''] = await filesIn(directory, '.corrupt');
    expect(String(await readFile(corrupt))).toContain('SECOND');
    expect(log()).toContain('a spool segment is damaged');
    expect(await inspectSpool(directory)).toEqual({ segments: 0, bytes: 0, corrupt: [corrupt] });
  });

  it('can be inspected from outside, with all that any process has in it', async () => {
    const directory = await newDirectory();
    expect(await inspectSpool(path.join(directory, 'none'))).toEqual({ segments: 0, bytes: 0, corrupt: [] });
    await open(directory).spool.append(Buffer.from('first'));
    await open(directory).spool.append(Buffer.from('second'));
    const sizes = await Promise.all((await filesIn(directory, '.segment')).map((file) => stat(file)));
    const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
    expect(bytes).toBeGreaterThan('firstsecond'.length);
    expect(await inspectSpool(directory)).toEqual({ segments: 2, bytes, corrupt: [] });
  });
});

it('whether a directory can be written to is tried in its nearest parent, and leaves nothing', async () => {
  const directory = await newDirectory();
  await checkWritable(directory);
  await checkWritable(path.join(directory, 'not', 'yet', 'there'));
  expect(await readdir(directory)).toEqual([]);
  const file = path.join(directory, 'file');
  await writeFile(file, '');
  await expect(checkWritable(file)).rejects.toThrow('ENOTDIR');
  await mkdir(path.join(directory, `.written-by-${process.pid}`));
  await expect(checkWritable(path.join(directory, 'not', 'yet'))).rejects.toThrow('EISDIR');
});

describe('several processes on one spool', () => {
  it('say so when a segment cannot be taken over', async () => {
    const directory = await newDirectory();
    const dead = open(directory);
    const living = open(directory);
    await appendAll(dead.spool, ['a']);
    await appendAll(living.spool, ['b']);
    const segments = await filesIn(directory, '.segment');
    const dying = segments.find((file) => readFileSync(file).includes('a')) ?? '';
    const own = path.dirname(segments.find((file) => file !== dying) ?? '');
    await mkdir(path.join(own, path.basename(dying)));
    await killOwners(directory);
    await utimes(path.join(own, 'owner'), new Date(), new Date());
    await expect(living.spool.segments()).rejects.toThrow('EISDIR');
  });

  it('take over at once from one that ended properly', async () => {
    const directory = await newDirectory();
    const first = open(directory).spool;
    await appendAll(first, ['a']);
    await first.close();
    expect(await drain(open(directory).spool)).toEqual(['a']);
  });

  it('lose nothing of one that was only asleep', async () => {
    const directory = await newDirectory();
    const asleep = open(directory);
    const other = open(directory).spool;
    await appendAll(asleep.spool, ['before']);
    expect(await other.segments()).toEqual([]);
    await killOwners(directory);
    const [taken = ''] = await other.segments();
    await appendAll(asleep.spool, ['after']);
    expect(asleep.log()).toContain('taken over');
    const all = [...(await textsOf(other, taken)), ...(await drain(asleep.spool))];
    expect(new Set(all)).toEqual(new Set(['before', 'after']));
  });

  it.each([true, false])('take back what another took from them, and drain it (kept: %j)', async (isKept) => {
    const directory = await newDirectory();
    const first = open(directory, { maxBytes: 1_000 }).spool;
    const other = open(directory).spool;
    await appendAll(first, ['a']);
    const [segment = ''] = await first.segments();
    if (isKept) first.keep(segment);
    await killOwners(directory);
    expect(await other.segments()).toEqual([segment]);
    // It is not empty, as it would be if all of it were stored.
    expect(await first.read(segment)).toBeUndefined();
    expect(first.bytes).toBe(0);
    await killOwners(directory);
    expect(await first.segments()).toEqual([segment]);
    // Only what is stored makes room.
    await expect(first.append(Buffer.alloc(990))).rejects.toThrow('the spool is full');
    expect(await textsOf(first, segment)).toEqual(['a']);
  });
});

/** One thing that happens to a spool. */
type Step =
  | { readonly do: 'append'; readonly texts: readonly string[] }
  /** The process dies; so much of one more record had reached the disk. */
  | { readonly do: 'crash'; readonly tornBytes: number }
  /** So many segments are read; the last of them is not removed, as when the process dies between. */
  | { readonly do: 'replay'; readonly segments: number; readonly diesBeforeRemoving: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('append' as const),
    texts: fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }),
  }),
  fc.record({ do: fc.constant('crash' as const), tornBytes: fc.nat(40) }),
  fc.record({ do: fc.constant('replay' as const), segments: fc.nat(3), diesBeforeRemoving: fc.boolean() }),
);

describe('any interleaving of write, crash and replay', () => {
  it('replays everything that was acknowledged, in the order of each segment, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const parent = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-spool-'));
        let directory = path.join(parent, '0');
        const acknowledged: string[] = [];
        const replayed: string[] = [];
        const ordered: boolean[] = [];
        const torn = new Set(['']);
        let { spool } = open(directory);
        // What a process leaves that dies now is what a copy of its files holds.
        const restart = async (number: number) => {
          const left = path.join(parent, `${number}`);
          await mkdir(directory, { recursive: true });
          await cp(directory, left, { recursive: true });
          await spool.close();
          directory = left;
          await killOwners(directory);
          ({ spool } = open(directory));
        };
        for (const [index, now] of steps.entries()) {
          const number = index + 1;
          if (now.do === 'append') {
            const texts = now.texts.map((text, index) => `${number}.${index} ${text}`);
            await appendAll(spool, texts);
            acknowledged.push(...texts);
          } else if (now.do === 'crash') {
            await restart(number);
            const [newest = ''] = (await filesIn(directory, '.segment')).toSorted().toReversed();
            const record = framePayload(Buffer.from(`torn ${number}, never acknowledged`));
            // A segment is written by one process, which dies once.
            if (!torn.has(path.basename(newest))) await appendFile(newest, record.subarray(0, now.tornBytes));
            torn.add(path.basename(newest));
          } else {
            for (const segment of (await spool.segments()).slice(0, now.segments)) {
              const payloads = await textsOf(spool, segment);
              replayed.push(...payloads);
              ordered.push(
                isDeepStrictEqual(
                  payloads,
                  acknowledged.filter((text) => payloads.includes(text)),
                ),
              );
              if (!now.diesBeforeRemoving) await spool.remove(segment);
            }
            if (now.diesBeforeRemoving) await restart(number);
          }
        }
        await restart(steps.length + 1);
        replayed.push(...(await drain(spool)));
        await spool.close();
        expect(ordered).not.toContain(false);
        expect(new Set(replayed)).toEqual(new Set(acknowledged));
        expect(await readdir(directory)).toEqual([]);
        await rm(parent, { recursive: true });
      }),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 25) },
    );
  }, 300_000);
});
