import { z } from 'zod';
import type { ArchivedColumn } from '../store/archive/archive-tables.ts';
import type { ReadableFile } from '../store/archive/archived-files.ts';
import { literal, type Engine } from './engine.ts';
import { filesAsTable } from './file-format.ts';
import type { ArchiveFiles } from './files/archive-files.ts';
import { allTranslated, exact, type Translated } from './translate-condition.ts';

/** How many files are looked into at first, and by how many times more then. */
const FIRST_FILES = 4;
const GROWTH = 4;

const Found = z.tuple([z.object({ count: z.coerce.number(), edge: z.string().nullable() })]);

/**
 * Narrows a condition to the time in which the first rows are that meet it for certain, as many as `limit`: a statement that
 * reads as many in this order needs no others. Reads as few files as it can.
 */
export async function firstRows(
  { files: place, engine }: { readonly files: ArchiveFiles; readonly engine: Engine },
  {
    files,
    columns,
  }: { readonly files: readonly ReadableFile[]; readonly columns: readonly ArchivedColumn[] },
  meets: Translated,
  order: 'asc' | 'desc',
  limit: number,
): Promise<Translated> {
  const sorted = inOrder(files, order);
  for (let looked = FIRST_FILES; looked < sorted.length * GROWTH; looked *= GROWTH) {
    const part = sorted.slice(0, looked);
    await using used = await place.use(part);
    const times = `select occurred_at from ${filesAsTable(used.paths, columns)} where ${meets.must}
      order by occurred_at ${order} limit ${limit}`;
    const found = await engine.run(
      `select count(*) as count, ${order === 'desc' ? 'min' : 'max'}(occurred_at)::varchar as edge from (${times})`,
    );
    const [{ count, edge }] = Found.parse(found);
    const next = sorted[looked];
    if (count < limit || edge === null) continue;
    const time = new Date(edge);
    if (next !== undefined && reaches(next, time, order)) continue;
    return narrow(meets, edge, time, order);
  }
  return meets;
}

/** Those that may have the first rows come first. */
const inOrder = (files: readonly ReadableFile[], order: 'asc' | 'desc') =>
  files.toSorted((a, b) =>
    order === 'asc' ? a.firstAt.getTime() - b.firstAt.getTime() : b.lastAt.getTime() - a.lastAt.getTime(),
  );

const reaches = (file: ReadableFile, edge: Date, order: 'asc' | 'desc') =>
  order === 'asc' ? file.firstAt <= new Date(edge.getTime() + 1) : file.lastAt >= edge;

function narrow(meets: Translated, edge: string, time: Date, order: 'asc' | 'desc'): Translated {
  const isBefore = `occurred_at ${order === 'asc' ? '<=' : '>='} ${literal(edge)}::TIMESTAMPTZ`;
  const range = order === 'asc' ? { until: new Date(time.getTime() + 1) } : { since: time };
  return allTranslated([meets, exact(isBefore, range)]);
}
