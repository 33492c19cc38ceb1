import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { UsageError } from '../lib/errors.ts';
import { generateLogKey, parseLogKey, type LogKey } from './signed-note.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';

/** Reads the key that signs the checkpoints. Undefined if there is none yet. Throws a UsageError if it is damaged. */
export async function readLogKey(file: string): Promise<LogKey | undefined> {
  try {
    return parseLogKey(await readFile(file, 'utf8'));
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw new UsageError(`the key of the log cannot be read from ${file}: see LOG_KEY_FILE`, {
      cause: error,
    });
  }
}

/** Reads the key that signs the checkpoints; the first call makes it, in a file that only its owner may read. */
export async function keepLogKey(file: string, installation: string): Promise<LogKey> {
  const kept = await readLogKey(file);
  if (kept !== undefined) return kept;
  await makePrivateDirectory(path.dirname(file));
  const text = generateLogKey(`xiq-sink/${installation}`);
  try {
    await writeFile(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // Another process has made it meanwhile.
    const made = await readLogKey(file);
    if (made === undefined) throw error;
    return made;
  }
  return parseLogKey(text);
}
