import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { ConflictError, NotFoundError, UsageError } from '../../src/lib/errors.ts';
import { addSource, disable, reencryptSources, rotateSecret } from '../../src/sources/change-sources.ts';
import { joinSources, readStoredSources } from '../../src/sources/join-sources.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { readSourcesRevision } from '../../src/store/sources/sources.ts';
import { startAdmin } from '../support/admin.ts';
import { useDatabase } from '../support/use-database.ts';
import { SECRETS_KEY, sourcesForTests } from '../support/sources.ts';

const NEW_KEY = Buffer.alloc(32, 2).toString('base64');

const test = useDatabase();

const contextOf = (keys: string) => loadSettings({ SECRETS_KEY: keys });

/** The sources in the settings: "default" and "other". */
const CONFIGURED = loadSettings({}).sources.flatMap((one) => [one, { ...one, name: 'other' }]);

const change = (keys = SECRETS_KEY) => ({
  db: test.db,
  operator: { name: 'ada', via: 'command' } as const,
  context: contextOf(keys),
  configured: CONFIGURED,
});

const given = (name: string, secret?: string) => ({
  name,
  secret: secret === undefined ? undefined : { value: secret },
  cloud: undefined,
  messageTypes: undefined,
});

/** The secrets of a source, as a process with these keys reads them. */
async function secretsOf(name: string, keys: string) {
  const { sources, problems } = joinSources([], await readStoredSources(test.db), contextOf(keys));
  return { secrets: sources.find((one) => one.name === name)?.secrets, problems };
}

it('a key is replaced: both decrypt, then everything is encrypted with the new one', async () => {
  const secret = 'a-given-secret-0123456789';
  await addSource(change(), given('east', secret));
  const both = `${NEW_KEY},${SECRETS_KEY}`;
  await rotateSecret(change(both), 'east', { value: 'next-secret-0123456789' }, null);
  const [rotated] = await listActions(test.db, { action: 'source.rotate', limit: 1 });
  expect(rotated?.details).toEqual({ secret: 'given', old_secrets_until: 'dropped by an operator' });
  const secrets = ['next-secret-0123456789', secret];
  expect(await secretsOf('east', both)).toEqual({ secrets, problems: [] });
  // One of them is still encrypted with the old key.
  expect((await secretsOf('east', NEW_KEY)).problems.join()).toMatch(
    /webhook_secrets\.1: .* a key that is not in SECRETS_KEY/,
  );
  await expect(reencryptSources(change(NEW_KEY))).rejects.toThrow('a key that is not in SECRETS_KEY');
  expect(await reencryptSources(change(both))).toBe(1);
  expect(await secretsOf('east', NEW_KEY)).toEqual({ secrets, problems: [] });
  expect((await secretsOf('east', SECRETS_KEY)).secrets).toBeUndefined();
});

it('of several at once that add a source, one does; a disabled name can be added again', async () => {
  const before = await readSourcesRevision(test.db);
  const ends = await Promise.allSettled([1, 2, 3, 4].map(() => addSource(change(), given('west'))));
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const [refused] = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  expect(refused).toBeInstanceOf(ConflictError);
  await expect(addSource(change(), given('default'))).rejects.toThrow(ConflictError);
  await disable(change(), 'west');
  await expect(rotateSecret(change(), 'west', undefined, null)).rejects.toThrow(NotFoundError);
  await expect(disable(change(), 'nowhere')).rejects.toThrow(NotFoundError);
  expect((await secretsOf('west', SECRETS_KEY)).secrets).toBeUndefined();
  const { generated } = await addSource(change(), given('west'));
  expect((await secretsOf('west', SECRETS_KEY)).secrets).toEqual([generated]);
  const settings = CONFIGURED.map((one) => ({ ...one, name: 'west' }));
  const { conflicts } = joinSources(settings, await readStoredSources(test.db), contextOf(SECRETS_KEY));
  expect(conflicts).toEqual([expect.stringContaining('sources disable west')]);
  expect(await readSourcesRevision(test.db)).toBe(before + 3);
});

it.each([
  ['Upper', 'a-given-secret-0123456789', /must be lower-case letters/],
  ['north', 'short', /must be at least 16 characters/],
  ['north', 'with spaces in it, 0123456789', /without spaces/],
])('%s with the secret %j is refused, and the secret is not repeated', async (name, secret, message) => {
  const error = await addSource(change(), given(name, secret)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect(String(error)).toMatch(message);
  expect(String(error)).not.toContain(secret);
});

it('limits are stored as those of the settings file are, and a wrong one is refused', async () => {
  const admin = await startAdmin([sourcesForTests(test.db)], test.db);
  // As a form sends it.
  await admin.post('/sources', { name: 'slow', deliveries_per_second: '5', bytes_per_second: 1_000 });
  await admin.post('/sources', { name: 'small', bytes_per_second: 7 });
  await admin.post('/sources', { name: 'free' });
  const { sources } = joinSources([], await readStoredSources(test.db), contextOf(SECRETS_KEY));
  const limitsOf = (source: string) => sources.find(({ name }) => name === source)?.limits;
  expect(limitsOf('slow')).toEqual({ deliveriesPerSecond: 5, bytesPerSecond: 1_000 });
  expect(limitsOf('small')).toEqual({ bytesPerSecond: 7 });
  expect(limitsOf('free')).toBeUndefined();
  await expect(admin.post('/sources', { name: 'stopped', bytes_per_second: 0 })).rejects.toThrow(
    /answered 400.*bytes_per_second/s,
  );
  await expect(
    addSource(change(), { ...given('stopped'), limits: { deliveries_per_second: 0 } }),
  ).rejects.toThrow(/limits\.deliveries_per_second/);
  await admin.close();
});

it('the API takes no reference to a file or a variable', async () => {
  const admin = await startAdmin([sourcesForTests(test.db)], test.db);
  const refused = (body: object) => expect(admin.post('/sources', body)).rejects.toThrow(/answered 400/);
  await refused({ name: 'south', secret: { file: '/etc/hostname' } });
  await refused({ name: 'south', api_url: 'https://api.example', api_token: { env: 'HOME' } });
  await refused({ name: 'south', api_url: 'https://169.254.169.254', api_token: 'a token' });
  // A text that looks like a reference of the command line is a secret like any other.
  await admin.post('/sources', { name: 'south', secret: 'file:/etc/hostname' });
  expect((await secretsOf('south', SECRETS_KEY)).secrets).toEqual(['file:/etc/hostname']);
  await admin.close();
});

it('xiq_reader cannot read them, and the service of a database before the migration finds none', async () => {
  const reader = openDatabase(test.readerUrl, () => undefined);
  await expect(sql`select * from sources`.execute(reader)).rejects.toThrow('permission denied');
  await reader.destroy();
  expect(await readSourcesRevision(test.service)).toBeGreaterThan(0);
  await test.query`alter table sources rename to sources_away`;
  expect(await readSourcesRevision(test.service)).toBe(0);
  await test.query`alter table sources_away rename to sources`;
});
