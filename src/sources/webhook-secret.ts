import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config, SourceConfig } from '../config/config.ts';
import { openDataDirectory } from '../lib/files/data-directory.ts';
import { createPrivateFile } from '../lib/files/private-directory.ts';

/** The sources with all their secrets, and the file of the generated secret, if any source uses it. */
export interface SourceSecrets {
  readonly sources: readonly SourceConfig[];
  readonly secretFile: string | undefined;
  /** The secret, if it was generated just now: the only time it is shown, and on a terminal only. */
  readonly generated: string | undefined;
}

/** Completes the sources: one without a secret uses the one in the data directory, which is generated if missing. */
export async function completeSecrets({ sources, dataDir }: Config): Promise<SourceSecrets> {
  if (sources.every(({ secrets }) => secrets.length > 0)) {
    return { sources, secretFile: undefined, generated: undefined };
  }
  const secretFile = secretFileOf(dataDir);
  const kept = await readKeptSecret(dataDir);
  const generated = kept === undefined ? randomBytes(32).toString('hex') : undefined;
  if (generated !== undefined) {
    await openDataDirectory(dataDir);
    await createPrivateFile(secretFile, generated);
  }
  const secret = generated ?? kept?.trim() ?? '';
  if (secret === '') {
    throw new Error(`${secretFile} is empty: delete it, and the next start generates a new secret`);
  }
  return { sources: withSecret(sources, secret), secretFile, generated };
}

/** Completes the sources with the secret in the data directory, if it was generated before. */
export async function readSecrets({ sources, dataDir }: Config): Promise<readonly SourceConfig[]> {
  const kept = (await readKeptSecret(dataDir))?.trim() ?? '';
  return kept === '' ? sources : withSecret(sources, kept);
}

const withSecret = (sources: readonly SourceConfig[], secret: string) =>
  sources.map((source) => (source.secrets.length > 0 ? source : { ...source, secrets: [secret] }));

async function readKeptSecret(dataDir: string): Promise<string | undefined> {
  return readFile(secretFileOf(dataDir), 'utf8').catch(() => undefined);
}

export const secretFileOf = (dataDir: string) => path.join(dataDir, 'webhook-secret');
