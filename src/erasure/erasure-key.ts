import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '../durable-file.ts';
import { UsageError } from '../errors.ts';
import { parseKey } from './refusals.ts';
import { makePrivateDirectory } from '../private-directory.ts';

/**
 * Reads the key that tells erased persons; the first erasure makes it, in a file that only its owner may read. Throws a
 * UsageError if it is damaged, or missing although `isUsed`: another one would let erased records come back.
 */
export async function keepErasureKey(file: string, isUsed: boolean): Promise<Buffer> {
  try {
    return parseKey(await readFile(file, 'utf8'));
  } catch (error) {
    if (!isMissingFile(error) || isUsed) {
      const reason = 'Copy the key from the machine that erased before: see docs/erasure.md.';
      throw new UsageError(`The key of erasures cannot be read from ${file}. ${reason}`, { cause: error });
    }
  }
  await makePrivateDirectory(path.dirname(file));
  const key = randomBytes(32);
  await writeFile(file, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}
