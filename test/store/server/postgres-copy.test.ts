import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { CopyLines, copyOut, type CopyData } from '../../../src/store/server/postgres-copy.ts';
import { withClient } from '../../../src/store/server/postgres.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const Lines = fc.array(fc.tuple(fc.uuid(), fc.string({ unit: 'grapheme', maxLength: 40 })), {
  maxLength: 20,
});

/** Takes lines, and adds them again and again until they need a larger buffer than new lines have. */
function take(lines: readonly (readonly [string, string])[], times: number): CopyData {
  const copy = new CopyLines();
  for (let time = 0; time < times; time += 1) {
    for (const [key, line] of lines) copy.add(`${key}${String(time).padStart(6, '0')}`, `${line}\n`);
  }
  return copy.takeSorted();
}

const textOf = (lines: readonly (readonly [string, string])[], times: number) =>
  lines
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, line]) => `${line}\n`.repeat(times))
    .join('');

it('keeps the lines of several transactions apart until they are released, in the order of their keys', () => {
  const Step = fc.record({
    lines: Lines,
    times: fc.constantFrom(1, 2, 400),
    releases: fc.option(fc.nat({ max: 4 })),
  });
  fc.assert(
    fc.property(fc.array(Step, { maxLength: 8 }), (steps) => {
      const held: { readonly data: CopyData; readonly text: string }[] = [];
      for (const { lines, times, releases } of steps) {
        held.push({ data: take(lines, times), text: textOf(lines, times) });
        for (const { data, text } of held) expect(data.bytes.toString()).toBe(text);
        if (releases !== null) for (const { data } of held.splice(releases, 1)) data.release();
      }
    }),
    { numRuns: 60 },
  );
});

it('a connection answers the next statement, however the rows of the last one came to an end', async () => {
  await withClient(database.databaseUrl, async (client) => {
    // More rows than the stream holds come with the end, in the same packet.
    const copy = (value: string) =>
      copyOut(client, `copy (select ${value} from generate_series(1, 1500) as n) to stdout`);
    expect(await copy('n').toArray()).toHaveLength(1_500);
    expect((await client.query('select 1')).rowCount).toBe(1);
    await expect(copy('1 / (1500 - n)').toArray()).rejects.toThrow('division by zero');
    expect((await client.query('select 1')).rowCount).toBe(1);
    copy("n || repeat('x', 10000)").destroy();
    expect((await client.query('select 1')).rowCount).toBe(1);
  });
});

it('the data of a statement comes one row at a time, however slow its reader is, and ends with its error', async () => {
  await withClient(database.databaseUrl, async (client) => {
    let bytes = 0;
    const copy = (values: string) =>
      copyOut(client, `copy (select ${values} from generate_series(1, 20000) as n) to stdout`, {
        onMessage: (length) => (bytes += length),
      });
    const rows: string[] = [];
    for await (const row of copy("n || repeat('x', 1000)")) {
      rows.push(String(row));
      if (rows.length % 5_000 === 0) await new Promise(setImmediate);
    }
    expect(rows).toEqual(Array.from({ length: 20_000 }, (_, n) => `${n + 1}${'x'.repeat(1_000)}\n`));
    expect(bytes).toBe(rows.join('').length);
    await expect(Array.fromAsync(copy('1 / (n - 9)'))).rejects.toThrow('division by zero');
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});
