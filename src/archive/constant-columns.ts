import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { ReadableFile } from '../store/archive/archived-files.ts';
import { EngineError, literal, READING_THREADS, type Engine } from './engine.ts';
import { BrokenFileError, type ArchiveFiles } from './files/archive-files.ts';

/** The values of columns, as DuckDB reads them, by the names of the columns. */
export type Constants = Readonly<Record<string, string>>;

/** A file with the texts that are the same in all of its rows, as far as they are known. */
export interface KnownFile extends ReadableFile {
  readonly constants?: Constants | undefined;
}

const Found = z.array(z.object({ file: z.string(), column: z.string(), value: z.string() }));

/** A provider's year can have 180,000 files. By estimate, 2 kB are known of one with many columns: 40 MB in all. */
const MOST_KNOWN = 20_000;

/** By the path of the file, which never changes. */
const KNOWN = new WeakMap<ArchiveFiles, LRUCache<string, Constants>>();

/**
 * Adds to files which texts are the same in all of their rows, by the statistics in the files: a condition that these meet is
 * not compared with each row. The statistics of a file are read once, which takes 3 ms. Nothing is known of files that cannot be
 * read, nor of more files than are kept in mind.
 */
export async function withConstants(
  { files: place, engine }: { readonly files: ArchiveFiles; readonly engine: Engine },
  files: readonly ReadableFile[],
): Promise<readonly KnownFile[]> {
  if (files.length > MOST_KNOWN) return files;
  const known = KNOWN.get(place) ?? new LRUCache<string, Constants>({ max: MOST_KNOWN });
  KNOWN.set(place, known);
  const others = files.filter(({ path }) => !known.has(path));
  try {
    await using used = await place.use(others);
    const rows = others.length === 0 ? [] : await engine.run(constantsIn(used.paths), READING_THREADS);
    const found = Map.groupBy(Found.parse(rows), ({ file }) => file);
    for (const [index, { path }] of others.entries()) {
      const columns = found.get(used.paths[index] ?? '') ?? [];
      known.set(path, Object.fromEntries(columns.map(({ column, value }) => [column, literal(value)])));
    }
  } catch (error) {
    if (!(error instanceof EngineError || error instanceof BrokenFileError)) throw error;
  }
  return files.map((file) => ({ ...file, constants: known.get(file.path) }));
}

const constantsIn = (paths: readonly string[]) =>
  `select file_name as file, path_in_schema as "column", min(stats_min_value) as value
    from parquet_metadata([${paths.map(literal).join(', ')}]) where type = 'BYTE_ARRAY' group by all
    having min(stats_min_value) = max(stats_max_value)
      and bool_and(coalesce(stats_null_count = 0 and min_is_exact and max_is_exact, false))`;
