import { access, constants, stat } from 'node:fs/promises';
import { isMissingFile } from './durable-file.ts';
import { reasonOf, UsageError } from '../errors.ts';
import { makePrivateDirectory } from './private-directory.ts';

/** DATA_DIR unless it is set. */
export const DEFAULT_DATA_DIR = './data';

/**
 * Creates DATA_DIR, or a directory in it, with missing parents unless it exists. Throws a UsageError of one line if this
 * program cannot create it or write to it.
 */
export async function openDataDirectory(directory: string): Promise<void> {
  await checkDataDirectory(directory);
  try {
    await makePrivateDirectory(directory);
  } catch (error) {
    throw new UsageError(
      `Can't create DATA_DIR ${directory} (${reasonOf(error)}). ` +
        'Create it for the user that runs xiq-sink, or set DATA_DIR to another directory.',
      { cause: error },
    );
  }
}

/** Throws a UsageError of one line if DATA_DIR, or a directory in it, is there and this program cannot use it. */
export async function checkDataDirectory(directory: string): Promise<void> {
  let isDirectory: boolean;
  try {
    const found = await stat(directory);
    isDirectory = found.isDirectory();
    if (isDirectory) await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isMissingFile(error)) return;
    throw new UsageError(
      `Can't write to DATA_DIR ${directory} (${await describeRefusal(directory, error)}). ` +
        'Change its owner or mode, or set DATA_DIR to another directory.',
      { cause: error },
    );
  }
  if (isDirectory) return;
  throw new UsageError(
    `DATA_DIR ${directory} is not a directory. Move that file away, or set DATA_DIR to a directory.`,
  );
}

async function describeRefusal(directory: string, error: unknown): Promise<string> {
  const owner = await stat(directory).then(
    ({ uid }) => uid,
    () => undefined,
  );
  const self = process.getuid?.();
  return owner === undefined || owner === self
    ? reasonOf(error)
    : `${reasonOf(error)}: it belongs to user ${owner}, and xiq-sink runs as user ${self}`;
}
