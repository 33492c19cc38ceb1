import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config/config.ts';
import { replaceFile, unlessMissing } from '../lib/files/durable-file.ts';
import { UsageError } from '../lib/errors.ts';
import { originOf } from './checkpoint.ts';
import { generateLogKey, parseLogKey, parseVerifier } from './signed-note.ts';
import { createPrivateFile } from '../lib/files/private-directory.ts';

export const logKeyFileOf = ({ dataDir, logKeyFile }: Pick<Config, 'dataDir' | 'logKeyFile'>) =>
  logKeyFile ?? path.join(dataDir, 'log-key');

/**
 * Reads the keys of the log, a line each: the one that is `signing` checkpoints, undefined on a machine that only verifies,
 * and those whose signatures count. None if there is no file. Throws a UsageError if it is damaged.
 */
export async function readLogKeys(file: string) {
  try {
    const text = await unlessMissing(readFile(file, 'utf8'), '');
    const lines = text.split(/\s+/).filter((line) => line !== '');
    const isPrivate = (line: string) => line.startsWith('PRIVATE+');
    const [signing, ...others] = lines.filter(isPrivate).map(parseLogKey);
    if (others.length > 0) throw new TypeError('it contains two private keys, but only one can sign');
    const publicKeys = lines.filter((line) => !isPrivate(line));
    const texts = signing === undefined ? publicKeys : [signing.publicText, ...publicKeys];
    return { signing, verifiers: texts.map((key) => parseVerifier(key)) };
  } catch (error) {
    throw new UsageError(`the keys of the log cannot be read from ${file}: see LOG_KEY_FILE`, {
      cause: error,
    });
  }
}

/**
 * Reads the key that signs the checkpoints. If there is none, this makes it, in a file that only its owner may read, and
 * keeps the public keys that the file has. `signedWith` is the public key of the latest checkpoint: without a file that
 * names it, another key is not made, because its signatures would count as those of a stranger.
 */
export async function keepLogKey(file: string, installation: string, signedWith: string | undefined) {
  const { signing, verifiers } = await readLogKeys(file);
  if (signing !== undefined) return signing;
  if (signedWith !== undefined && verifiers.length === 0) {
    throw new UsageError(
      `The log is signed with a key that is not in ${file}. Copy the file from the machine that has it, or set LOG_KEY_FILE. If the key is lost, write its public key into ${file}, and a new key will be generated: ${signedWith}`,
    );
  }
  const text = generateLogKey(originOf(installation));
  try {
    // Never over a file that another process has made since it was looked for.
    if (verifiers.length === 0) await createPrivateFile(file, `${text}\n`);
    else await prepend(file, text);
  } catch (error) {
    const made = (await readLogKeys(file)).signing;
    if (made === undefined) throw error;
    return made;
  }
  return parseLogKey(text);
}

/** Writes the key that signs in front of the public ones. Throws if another process has done so meanwhile. */
async function prepend(file: string, key: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (/^PRIVATE\+/m.test(text)) throw new Error(`${file} already contains a key`);
  await replaceFile(file, `${key}\n${text}`);
}
