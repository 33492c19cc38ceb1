import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { syncDirectory, unlessMissing } from './durable-file.ts';

/**
 * Creates a directory for data with its missing parents: only the owner can list or enter them. Existing directories keep
 * their mode. Does not use `recursive`:
 * where the system creates no directory, as in /proc, Node.js then tries for ever.
 */
export async function makePrivateDirectory(directory: string): Promise<void> {
  if (await isDirectory(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makePrivateDirectory(parent);
  try {
    await mkdir(directory, { mode: 0o700 });
    // Without it a power failure could remove the directory with all that is synced below it.
    await syncDirectory(parent);
  } catch (error) {
    // Another process may have been faster.
    if (!(await isDirectory(directory))) throw error;
  }
}

/** Writes a new file for its owner alone, durably, with missing directories. Throws the system's error, EEXIST if there is one. */
export async function createPrivateFile(file: string, content: string): Promise<void> {
  await makePrivateDirectory(path.dirname(file));
  await writeFile(file, content, { mode: 0o600, flag: 'wx', flush: true });
  await syncDirectory(path.dirname(file));
}

const isDirectory = async (file: string) =>
  (await unlessMissing(stat(file), undefined))?.isDirectory() === true;
