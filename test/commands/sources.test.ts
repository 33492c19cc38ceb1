import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commandName } from '../../src/lib/text/command-name.ts';
import { lastAction } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { SECRET } from '../support/program.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';

const test = useDatabase();
const directory = useDirectory();

const run = (...words: string[]) =>
  endOfCommand(
    { DATABASE_URL: test.databaseUrl, DATA_DIR: directory, SECRETS_KEY, OTHER: 'another-secret-0123456789' },
    'sources',
    ...words,
  );
const secretIn = (text: string) => /^webhook secret: ([0-9a-f]{64})$/m.exec(text)?.[1];
const lineOf = async (name: string) => {
  const lines = (await run('list', '--json')).stdout.trim().split('\n');
  return lines
    .map((line): unknown => JSON.parse(line))
    .find((line) => JSON.stringify(line).includes(`"${name}"`));
};

it('lists a source of the settings with the secret that was generated for it', async () => {
  expect(await lineOf('default')).toMatchObject({ secrets: 0 });
  await writeFile(path.join(directory, 'webhook-secret'), SECRET);
  expect(await lineOf('default')).toMatchObject({ secrets: 1 });
});

it('is added with a generated secret, gets others, and is disabled', async () => {
  const added = await run('add', 'east', '--type', 'SMS_LOG_ALL', '--deliveries-per-second', '20');
  expect(added.stdout).toContain('added east: send deliveries to /ingest/east/MESSAGE_TYPE');
  const first = secretIn(added.stdout);
  expect(first).toBeDefined();
  expect(added.stderr).toContain('(shown only once)');
  expect(await lineOf('east')).toMatchObject({ secrets: 1, message_types: ['SMS_LOG_ALL'] });
  expect((await run('list')).stdout).toMatch(/^east +in use +database +1 .*SMS_LOG_ALL +20 deliveries\/s$/m);

  const rotated = await run('rotate', 'east', '--keep', '24');
  expect(rotated.stdout).toMatch(/^east accepts a new secret, and the old ones until \d{4}-/);
  expect(rotated.stderr).toContain('enter the new secret in the cloud');
  expect(secretIn(rotated.stdout)).not.toBe(first);
  expect(await lineOf('east')).toMatchObject({ secrets: 2 });
  const given = await run('rotate', 'east', '--secret', 'env:OTHER');
  expect(given.stdout).toContain('until "sources rotate east --drop-old"');
  expect(given.stdout).not.toContain('webhook secret:');
  expect((await run('rotate', 'east', '--drop-old')).stdout).toBe('dropped the old secrets of east\n');
  expect(await lineOf('east')).toMatchObject({ secrets: 1 });
  expect((await run('rotate', '--reencrypt')).stdout).toMatch(/^encrypted the secrets of \d sources? /);

  expect((await run('disable', 'east')).stdout).toContain('disabled east');
  expect(await lineOf('east')).toMatchObject({ state: 'disabled' });
  expect(await lastAction(test.db)).toMatchObject({
    action: 'source.disable',
    subject: 'east',
    via: 'command',
  });
});

it('has an API of its own, whose secrets come from a place', async () => {
  const cloud = ['--api-url', 'https://cloud.test', '--username', 'me', '--password', 'env:OTHER'];
  const { stdout, stderr } = await run('add', 'west', ...cloud);
  expect(secretIn(stdout)).toBeDefined();
  expect(stderr).toContain(
    `register the new secret in the cloud with: ${commandName()} subscribe apply --source west`,
  );
  expect(await lineOf('west')).toMatchObject({ api_url: 'https://cloud.test' });
  expect((await run('rotate', 'west')).stderr).toContain('subscribe apply --source west');
});

it('is not stored without a key', async () => {
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory };
  const { code, stderr } = await endOfCommand(settings, 'sources', 'add', 'keyless');
  expect([code, stderr]).toEqual([2, expect.stringContaining('set SECRETS_KEY for all processes')]);
  expect(await lineOf('keyless')).toBeUndefined();
});

it.each([
  [['add', 'default'], 'is in the settings'],
  [['add', 'north', '--secret', 'plain-text-secret-0123'], 'env:NAME'],
  [['add', 'north', '--secret', '-', '--api-token', '-'], 'only one secret'],
  [['add', 'north', '--secret', 'env:MISSING'], 'MISSING'],
  [['rotate'], 'give the name of a source'],
  [['rotate', 'east', '--reencrypt'], 'omit the name'],
  [['rotate', 'east', '--keep', '9000'], 'number of hours'],
  [['rotate', 'nowhere'], 'nowhere'],
])('%j is wrong usage', async (words, message) => {
  const { code, stderr } = await run(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(await lineOf('north')).toBeUndefined();
});
