import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { storeAudits } from '../support/actions.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { PROGRAM, runProgram } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';

const directory = useDirectory();

describe('.env in the working directory', () => {
  const run = promisify(execFile);
  /** How a command ends that a wrong or missing setting stops. */
  async function problemOf(name: string, env: Record<string, string>): Promise<string> {
    const cwd = path.join(directory, name);
    const attempt = run(PROGRAM, ['events', 'search'], { cwd, env: { PATH: process.env['PATH'], ...env } });
    await expect(attempt).rejects.toMatchObject({ code: 2 });
    return attempt.then(({ stdout }) => stdout, String);
  }

  it('is read by every command, after the real environment', async () => {
    await mkdir(path.join(directory, 'with'));
    await writeFile(path.join(directory, 'with/.env'), 'DATA_DIR=/from/the/file\nPORT=eighty\n');
    expect(await problemOf('with', {})).toMatch(/PORT must be .*eighty/);
    expect(await problemOf('with', { PORT: '80' })).toContain('There is no database in /from/the/file/');
    expect(await problemOf('with', { PORT: '80', DATA_DIR: '/from/outside' })).toContain(
      'There is no database in /from/outside/',
    );
  });

  it('is not needed, but an error if it is unreadable', async () => {
    await mkdir(path.join(directory, 'without'));
    expect(await problemOf('without', {})).toContain('There is no database in');
    await mkdir(path.join(directory, 'without/.env'));
    expect(await problemOf('without', {})).toContain(`cannot read the settings in ${directory}/without/.env`);
  });

  it('names settings that are misspelled in it', async () => {
    await mkdir(path.join(directory, 'misspelled'));
    await writeFile(path.join(directory, 'misspelled/.env'), 'WEBHOOK_SECRETS=x\n');
    expect(await problemOf('misspelled', {})).toContain('did you mean WEBHOOK_SECRET?');
  });
});

it.each([
  [{}, 0],
  [{ TZ: 'Europe/Berlin' }, 1],
])('times on the command line are in the zone of the environment %o', async (env, events) => {
  const test = await databaseForTest();
  // Half past midnight of 1 July in Berlin, and still June in UTC.
  await storeAudits(test.db, { timeStamp: Date.parse('2026-06-30T22:30Z') });
  const settings = { DATABASE_URL: test.databaseUrl, ...env };
  const printed = await runProgram(settings, 'events', 'search', '--json', '--since', '2026-07-01');
  expect(printed.split('\n').filter(Boolean)).toHaveLength(events);
});
