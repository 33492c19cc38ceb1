import { expect } from 'vitest';
import { z } from 'zod';
import { endOfCommand } from '../../support/command.ts';
import { cloudSettings, emulatorForTest } from '../../support/emulator.ts';

/** A cloud for one test: its settings. */
export const startCloud = async () => cloudSettings((await emulatorForTest()).url);

const Line = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warn', 'fail', 'skipped']),
  message: z.string(),
  remedy: z.string().nullable(),
});

/** What the doctor says of each thing, `STATUS MESSAGE`, and how it ends. */
export async function examine(settings: Record<string, string>, end = endOfCommand) {
  const { code, stdout, stderr } = await end(settings, 'doctor', '--json');
  const lines = stdout.split('\n').filter(Boolean);
  const found = lines.map((line) => Line.parse(JSON.parse(line)));
  // Whatever is not in order comes with what to do about it.
  const helpless = found.filter(({ status, remedy }) => /warn|fail/.test(status) && remedy === null);
  expect(helpless).toEqual([]);
  const told = Object.fromEntries(found.map(({ check, status, message }) => [check, `${status} ${message}`]));
  return { code, told, output: stdout + stderr };
}

export const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** The tests' own server does not wait for the disk, and nothing else is wrong with it. */
export const ONLY_FSYNC = /^(?:ok|warn Postgres [^:]*: fsync is off [^;]*; full_page_writes is off [^;]*$)/;
