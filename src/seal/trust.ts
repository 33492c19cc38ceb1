import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config/config.ts';
import { unlessMissing } from '../lib/files/durable-file.ts';
import { readWitnesses } from './cosignature.ts';
import { parseCheckpoints, type Checkpoint } from './checkpoint.ts';
import { logKeyFileOf, readLogKeys } from './log-key.ts';
import { isSignedBy, type NoteVerifier } from './signed-note.ts';

/** What this machine knows of the log from outside of its database: whoever owns the database cannot change it. */
export interface Trust {
  /** The keys whose signatures count. None: no key of the log is known here. */
  readonly keys: readonly NoteVerifier[];
  /** The latest checkpoint that was seen here; undefined if none was. */
  readonly seen: Checkpoint | undefined;
  /** The witnesses of the settings, whose signatures nobody here can make. */
  readonly witnesses: readonly NoteVerifier[];
}

/** The file of the data directory with the latest checkpoint that this machine has seen. */
export const seenFileOf = (dataDir: string) => path.join(dataDir, 'log-checkpoint');

/** Reads what this machine knows. Throws an error that names the file if one of them is damaged. */
export async function readTrust(config: Pick<Config, 'dataDir' | 'logKeyFile' | 'anchors'>): Promise<Trust> {
  const { verifiers } = await readLogKeys(logKeyFileOf(config));
  const seen = await readSeen(seenFileOf(config.dataDir));
  return { keys: verifiers, seen, witnesses: readWitnesses(config) };
}

/** Reads the checkpoint that was seen last. Throws an error that names the file if it is damaged. */
export async function readSeen(file: string): Promise<Checkpoint | undefined> {
  const text = await unlessMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined) return undefined;
  try {
    return parseCheckpoints(text)[0];
  } catch (error) {
    throw new Error(`${file} contains no checkpoint: restore the file from a backup`, { cause: error });
  }
}

/** Whether a key that counts has signed a note. */
export const isSignedByKnown = (note: string, { keys }: Trust): boolean =>
  keys.some((key) => isSignedBy(note, key));

/** Whether keys are known, and none of them has signed a note. */
export const isForeign = (note: string, trust: Trust): boolean =>
  trust.keys.length > 0 && !isSignedByKnown(note, trust);
