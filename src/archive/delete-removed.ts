import { describeError } from '../lib/errors.ts';
import { listRemoved } from '../store/archive/archived-files.ts';
import type { ArchiveAccess } from './read-archive.ts';

/**
 * Deletes the files that mean nothing any more: their events are back in the database, or past their retention, or an attempt
 * did not end. Resolves with why files are still there; the next call tries again.
 */
export async function deleteRemoved({
  db,
  files,
}: Pick<ArchiveAccess, 'db' | 'files'>): Promise<readonly string[]> {
  const removed = await listRemoved(db);
  if (removed.size === 0) return [];
  const problems: string[] = [];
  try {
    const there = [...(await files.sizes()).keys()].filter((path) => removed.has(path));
    for (const path of there)
      await files.remove(path).catch((error: unknown) => problems.push(`${path}: ${describeError(error)}`));
  } catch (error) {
    problems.push(`the files were not listed: ${describeError(error)}`);
  }
  return problems;
}
