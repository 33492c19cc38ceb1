import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { endOfCommand } from '../../support/command.ts';
import { PROGRAM } from '../../support/program.ts';
import { useDirectory } from '../../support/use-directory.ts';

const OTHER_USER = 65_534;
const asOtherUser = { uid: OTHER_USER, gid: OTHER_USER };

/** Only root can become another user, who finds no program in a folder of root's own, such as /root. */
const canRunAsOther =
  process.getuid?.() === 0 && spawnSync(PROGRAM, ['--version'], asOtherUser).error === undefined;

const directory = useDirectory();
beforeAll(async () => {
  await writeFile(path.join(directory, 'file'), '');
  await mkdir(path.join(directory, 'private'), { mode: 0o700 });
  await mkdir(path.join(directory, 'read-only'));
  await chmod(path.join(directory, 'read-only'), 0o555);
});

/** Runs a command as another user to its end, which it must reach by itself. */
const runOn = (dataDir: string, words: string, settings: Record<string, string> = {}) =>
  spawnSync(PROGRAM, words.split(' '), {
    env: { PATH: process.env['PATH'], PORT: '0', ADMIN_PORT: '0', DATA_DIR: dataDir, ...settings },
    encoding: 'utf8',
    timeout: 30_000,
    ...asOtherUser,
  });

const SERVER = {
  DATABASE_URL: 'postgresql://127.0.0.1:9/nowhere',
  WEBHOOK_SECRET: 'a-secret-of-the-tests-0123456789',
};

describe('DATA_DIR that is a file', () => {
  it.each([
    ['serve --role forward', SERVER],
    ['events search', {}],
    ['restore /nowhere', {}],
  ])('ends %s with one sentence and 2 (settings: %j)', async (words, settings) => {
    const env = { DATA_DIR: path.join(directory, 'file'), ...settings };
    const { code, stdout, stderr } = await endOfCommand(env, ...words.split(' '));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^xiq-sink: DATA_DIR .*\/file is not a directory\. .*set DATA_DIR .*\n$/);
  });

  it('is a wrong setting to doctor', async () => {
    const { code, stdout } = await endOfCommand({ DATA_DIR: path.join(directory, 'file') }, 'doctor');
    expect(stdout).toMatch(/fail.*DATA_DIR .* is not a directory/);
    expect(code).toBe(2);
  });
});

it.runIf(process.platform === 'linux')('where the system creates no directory, ends at once', async () => {
  const { code, stderr } = await endOfCommand({ DATA_DIR: '/proc/xiq-sink/data' }, 'serve');
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^xiq-sink: Can't create DATA_DIR \/proc\/xiq-sink\/data \(no such file or directory\)/,
  );
});

describe.runIf(canRunAsOther)(
  'DATA_DIR that only another user can write to (as root, outside of its home)',
  () => {
    const refused = (what: string, why: string) =>
      new RegExp(
        `^xiq-sink: Can't ${what} \\(permission denied${why}.*\\)\\. .* set DATA_DIR to another directory\\.\n$`,
      );

    it.each([
      [
        'serve',
        SERVER,
        'private',
        'write to DATA_DIR .*/private',
        `: it belongs to user 0, and xiq-sink runs as user ${OTHER_USER}`,
      ],
      ['migrate', {}, 'read-only/new', 'create DATA_DIR .*/read-only/new', ''],
    ])('ends %s with one sentence and 2 (settings: %j, %s)', (words, settings, name, what, why) => {
      const { status, stderr } = runOn(path.join(directory, name), words, settings);
      expect(stderr).toMatch(refused(what, why));
      expect(status).toBe(2);
    });
  },
);
