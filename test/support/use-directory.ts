import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/** A directory of a test file's own, there until its last test has ended. */
export function useDirectory(): string {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-test-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
