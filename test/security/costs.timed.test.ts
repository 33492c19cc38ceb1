import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { canonicalJson, parseExactJson } from '../../src/events/exact-json.ts';
import { chooseDecoder } from '../../src/ingest/read-body.ts';
import { scanBody } from '../../src/ingest/scan/scan-body.ts';
import { readField } from '../../src/handlers/coerce.ts';
import { revealHidden, revealOnLine } from '../../src/lib/text/hidden-characters.ts';
import { matchRecords } from '../../src/reconcile/match-records.ts';
import { serve } from '../ingest/serve.ts';

const MIB = 1024 * 1024;

/** A scan takes 10, on an idle machine. */
const MS_PER_MIB = 40;

const list = (element: string, times: number) => `[${Array(times).fill(element).join(',')}]`;

/** Milliseconds of this process's processor time. */
function cpuMs(work: () => unknown): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

describe('the processor time of what a sender chooses', () => {
  it.each(['\u65E5\u672C', '\u202E', '\u{1F468}\u200D'])('a long text of %j takes milliseconds', (text) => {
    expect(cpuMs(() => revealHidden(text.repeat(100_000)))).toBeLessThan(500);
  });

  it('a long run of blanks is shown on one line in milliseconds', () => {
    expect(cpuMs(() => revealOnLine(`a${' '.repeat(300_000)}b`))).toBeLessThan(500);
  });

  it.each([
    ['timestamptz', 'Z['],
    ['inet', '%'],
    ['macaddr', ' '],
  ] as const)('a long run is read as %s in milliseconds: %j', (kind, part) => {
    const value = `${part.repeat(150_000)}\n1`;
    const field = { column: 'value', kind, members: ['value'] };
    expect(cpuMs(() => readField({ value }, field))).toBeLessThan(500);
  });

  it.each(['1', '[', '1.1.1.'])(
    'a long run of %j as a forwarded address is read in milliseconds',
    async (part) => {
      const { post } = await serve();
      const began = process.cpuUsage();
      for (let sent = 0; sent < 10; sent += 1) {
        expect((await post('[]', { 'x-forwarded-for': part.repeat(15_000 / part.length) })).status).toBe(200);
      }
      const { user } = process.cpuUsage(began);
      expect(user / 1_000).toBeLessThan(1_000);
    },
  );

  it.each(['1', '1.', ' ', ',0'])('a long run of %j inside a string is read in linear time', (text) => {
    const run = text.repeat(1_000_000 / text.length);
    expect(cpuMs(() => canonicalJson(parseExactJson(`[",${run}x"]`)))).toBeLessThan(1_000);
  });

  it.each([
    ['brackets', Buffer.alloc(32 * MIB, '['), 'is not JSON'],
    ['numbers', Buffer.from(`{"a":${list('10000000000000000000e400', 150_000)}}`), 'digits'],
    ['arrays of nothing', Buffer.from(`{"a":${list('[]', 3_000_000)}}`), 'structural characters'],
    ['commas', Buffer.alloc(32 * MIB, ','), 'is not JSON'],
  ])('too many %s are counted in one pass', (_, body, problem) => {
    let found: string | undefined;
    expect(cpuMs(() => (found = scanBody(body).problem))).toBeLessThan((body.length / MIB) * MS_PER_MIB);
    expect(found).toContain(problem);
  });

  it('thousands of records of one millisecond are matched in many short turns', () => {
    const many = (prefix: string) =>
      Array.from({ length: 3_000 }, (_, index) => ({
        id: `${prefix}${index}`,
        at: 1,
        text: `device ${index} changed`,
      }));
    const work = matchRecords(many('w'), many('l'), 2_000);
    let longest = 0;
    const turns: IteratorResult<unknown>[] = [];
    while (turns.at(-1)?.done !== true)
      longest = Math.max(
        longest,
        cpuMs(() => turns.push(work.next())),
      );
    expect(longest).toBeLessThan(200);
  });
});

describe('the memory of what a sender chooses', () => {
  it.each(
    Object.entries({ gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }),
  )('a bomb of 50 MB in %s is stopped at the limit', async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(50_000_000));
    const before = process.memoryUsage().rss;
    await expect(chooseDecoder(encoding)(bomb, 1_000)).rejects.toMatchObject({ status: 413 });
    expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
  });
});
