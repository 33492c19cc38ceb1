import { mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const PREFIX = path.join(os.tmpdir(), 'xiq-sink-test-');

/** A directory of a test file's own, there until its last test has ended. */
export function useDirectory(): string {
  const directory = mkdtempSync(PREFIX);
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A directory of the running test's own. */
export async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(PREFIX);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
