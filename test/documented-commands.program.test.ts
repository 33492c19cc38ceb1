import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postDelivery, PROGRAM, SECRET, startProgram, type Program } from './support/program.ts';
import { useDirectory } from './support/use-directory.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '..');

const PAGES = ['README.md', ...readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter(
  (page) => page.endsWith('.md'),
);

/** The blocks of commands that say `sh run`: they need a running service, and nothing outside of this machine. */
const BLOCKS = PAGES.flatMap((page) =>
  [...readFileSync(path.join(ROOT, page), 'utf8').matchAll(/^```sh run\n(.*?)^```/gms)].map(
    ([, commands = '']) => ({ page, commands, title: commands.split('\n', 1)[0] ?? '' }),
  ),
);

const directory = useDirectory();
let service: Program;
beforeAll(async () => {
  // A reader stands in a checkout. The files that the commands write belong there, too.
  const checkout = path.join(directory, 'checkout');
  await mkdir(checkout);
  await symlink(path.dirname(PROGRAM), path.join(checkout, 'bin'));
  service = await startProgram({ DATA_DIR: path.join(directory, 'data'), WEBHOOK_SECRET: SECRET });
  const login = { id: 1, userName: 'admin@example.com', code: 10001, timeStamp: Date.now() };
  await postDelivery(service, 'AUDIT_LOG_ALL', login);
});
afterAll(() => service.end('SIGTERM'));

it('are found', () => {
  expect(BLOCKS.map(({ page }) => page)).toEqual(
    expect.arrayContaining(['README.md', 'docs/first-event.md']),
  );
  expect(BLOCKS.length).toBeGreaterThan(10);
});

it.each(BLOCKS)('$page: $title', async ({ commands }) => {
  const env = {
    PATH: `${path.dirname(PROGRAM)}:${process.env['PATH']}`,
    DATA_DIR: path.join(directory, 'data'),
  };
  const cwd = path.join(directory, 'checkout');
  await expect(run('sh', ['-euc', commands], { cwd, env })).resolves.toBeDefined();
});
