import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../lib/errors.ts';
import { unlessMissing } from '../../lib/files/durable-file.ts';

/** Written last: a directory without it is no backup. */
export const MANIFEST_FILE = 'backup.json';

/** The database: a tar archive, compressed with Zstandard. */
export const DATABASE_FILE = 'postgres.tar.zst';

/** The directory of spool segments, in a backup and in a data directory. */
export const SPOOL = 'spool';

const Manifest = z.object({
  format: z.literal(1),
  version: z.string(),
  began_at: z.iso.datetime(),
  ended_at: z.iso.datetime(),
  /** Everything that was committed before this place in the server's log is in the backup. */
  end_lsn: z.string(),
  database_bytes: z.number(),
  files: z.record(z.string(), z.string()),
  rows: z.object({ snapshot: z.string(), tables: z.record(z.string(), z.number()) }),
});

export type Manifest = z.infer<typeof Manifest>;

/** Reads the manifest of a backup. Throws a UsageError if the directory is no complete backup of a known format. */
export async function readManifest(directory: string): Promise<Manifest> {
  const file = path.join(directory, MANIFEST_FILE);
  const text = await unlessMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined) {
    throw new UsageError(`${directory} is not a complete backup: it has no ${MANIFEST_FILE}.`);
  }
  try {
    return Manifest.parse(JSON.parse(text));
  } catch (error) {
    const message = `${file} is damaged, or a newer version of xiq-sink wrote it. Use that version.`;
    throw new UsageError(message, { cause: error });
  }
}
