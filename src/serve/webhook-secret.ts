import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config.ts';
import type { SourceConfig } from '../config.ts';

/** The sources with all their secrets, and the file of the secret that this program made itself, if it did. */
export interface SourceSecrets {
  readonly sources: readonly SourceConfig[];
  readonly secretFile: string | undefined;
  /** Set when the secret was generated just now: the one time it is shown. */
  readonly generated: string | undefined;
}

/** Completes the sources: one that has no secret gets the data directory's, which is generated the first time. */
export async function completeSecrets({ sources, dataDir }: Config): Promise<SourceSecrets> {
  if (sources.every(({ secrets }) => secrets.length > 0)) {
    return { sources, secretFile: undefined, generated: undefined };
  }
  const secretFile = secretFileOf(dataDir);
  const kept = await readKeptSecret(dataDir);
  const generated = kept === undefined ? randomBytes(32).toString('hex') : undefined;
  if (generated !== undefined) {
    await mkdir(dataDir, { recursive: true });
    await writeFile(secretFile, generated, { mode: 0o600, flag: 'wx' });
  }
  const secret = generated ?? kept?.trim() ?? '';
  if (secret === '')
    throw new Error(`${secretFile} is empty: delete it, and the next start makes a new secret`);
  return {
    sources: sources.map((source) => (source.secrets.length > 0 ? source : { ...source, secrets: [secret] })),
    secretFile,
    generated,
  };
}

/** The secret that was generated the first time; undefined before. */
export async function readKeptSecret(dataDir: string): Promise<string | undefined> {
  return readFile(secretFileOf(dataDir), 'utf8').catch(() => undefined);
}

const secretFileOf = (dataDir: string) => path.join(dataDir, 'webhook-secret');
