import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { CLOUD_TYPES, WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM, runProgram } from '../support/program.ts';
import { startServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { directoryForTest } from '../support/for-one-test.ts';

/** Starts a command that runs until it is told to stop. */
function start(args: readonly string[], env: Record<string, string>) {
  const program = startServerProcess(PROGRAM, args, { env: { PATH: process.env['PATH'], ...env } });
  onTestFinished(() => program.end('SIGINT'));
  /** Fails with what it printed unless it ends with 0. */
  const endWell = async () => {
    await program.end('SIGINT');
    const code = program.exitCode();
    if (code !== 0) throw new Error(`it ended with ${code}: ${program.output()}`);
  };
  return { output: program.output, endWell };
}

it('the demo brings events of all types of webhook subscriptions into the tables within 30 s, and stops all of it', async () => {
  const directory = await directoryForTest();
  const settings = { DATA_DIR: directory, PORT: String(await freePort()), ADMIN_PORT: '0' };
  const demo = start(['demo'], settings);
  // An alert need not come within that time.
  const arrived = `(?:${WEBHOOK_TYPES.length}|${CLOUD_TYPES.length}) of ${CLOUD_TYPES.length} message types`;
  await waitFor(() => new RegExp(`${arrived} have arrived`).test(demo.output()), 30_000);

  const question = /sql "(select message_type.*)"/.exec(demo.output())?.[1] ?? '';
  const demoSettings = { DATA_DIR: path.join(directory, 'demo') };
  const answer: unknown = JSON.parse(await runProgram(demoSettings, 'sql', '--json', question));
  const types = z.array(z.object({ message_type: z.string() })).parse(answer);
  expect(types.map(({ message_type }) => message_type)).toEqual(expect.arrayContaining([...WEBHOOK_TYPES]));

  const admin = /Open the console: (http:\S+)/.exec(demo.output())?.[1] ?? '';
  expect(await (await fetch(admin)).text()).toMatch(/aria-current="?true"?\s*>\s*last hour/i);
  const oddities =
    'select (select count(*)::int from quarantine) as quarantined, (select sum(duplicate_count)::int from conservation) as duplicates';
  expect(JSON.parse(await runProgram(demoSettings, 'sql', '--json', oddities))).toEqual([
    { quarantined: 1, duplicates: 1 },
  ]);
  const forwarded = path.join(directory, 'demo', 'forwarded.jsonl');
  await waitFor(async () => (await readFile(forwarded, 'utf8').catch(() => '')).includes('AUDIT_LOG_ALL'));

  expect(demo.output(), 'the log would push the screen away').not.toContain('batch stored');
  await demo.endWell();
  const conservation = await runProgram(
    demoSettings,
    'sql',
    '--json',
    'select * from conservation where not adds_up',
  );
  expect(JSON.parse(conservation)).toEqual([]);
});
