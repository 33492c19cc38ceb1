import { chmodSync, mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const PREFIX = path.join(os.tmpdir(), 'xiq-sink-test-');

/** A directory of a test file's own, which the user of the embedded Postgres can reach, too. It is there until the last test has ended. */
export function useDirectory(): string {
  const directory = mkdtempSync(PREFIX);
  chmodSync(directory, 0o711);
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A directory of the running test's own. */
export async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(PREFIX);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
