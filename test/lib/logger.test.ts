import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

const TEXT = 'of \u001B[2J\u009B31m\u202E and\nmore';

/** What a process logs about an error with such a text, on a terminal or in a pipe. */
async function logged(isTerminal: boolean, members: object = {}): Promise<string> {
  const script = `
    process.stderr.isTTY = ${isTerminal};
    const { createLogger } = await import('./src/lib/logger.ts');
    const text = ${JSON.stringify(TEXT)};
    createLogger('info').info({ name: text, err: Object.assign(new Error(text), ${JSON.stringify(members)}) }, text);`;
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  return stderr;
}

it('a log entry on a terminal shows hidden characters of its texts', async () => {
  const entry = await logged(true);
  expect(entry).toContain(String.raw`of \u001b[2J\u009b31m\u202e and`);
  expect(entry.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202E/u);
});

it('a log entry in a pipe is JSON without hidden characters, of the same text', async () => {
  const entry = await logged(false);
  expect(entry).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(entry)).toMatchObject({ msg: TEXT, name: TEXT, err: { message: TEXT } });
});

it('has the stack of a defect, and not of a server that is away or refuses', async () => {
  const stackOf = async (members: object) => /"stack"/.test(await logged(false, members));
  expect(await stackOf({ severity: 'ERROR', code: '42601' })).toBe(true);
  expect(await stackOf({ severity: 'ERROR', code: '42501' })).toBe(false);
  expect(await stackOf({ syscall: 'connect', code: 'ECONNREFUSED' })).toBe(false);
});

it('a log that nobody reads does not keep the process from ending', async () => {
  const script = `
    const { createLogger } = await import('./src/lib/logger.ts');
    const logger = createLogger('info');
    for (let n = 0; n < 10_000; n += 1) logger.info('x'.repeat(200));
    setTimeout(() => process.exit(3), 100);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(await once(child, 'exit')).toEqual([3, null]);
});
