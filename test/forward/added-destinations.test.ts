import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { joinDestinations, mapSecrets } from '../../src/forward/added-destinations.ts';
import { reencryptDestinations } from '../../src/forward/change-destinations.ts';
import { SENDER_TYPES, type SenderType } from '../../src/forward/senders/sender-types.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { deleteOutput, listAddedOutputs } from '../../src/store/destinations/added-outputs.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { checkAlertRules } from '../../src/commands/doctor/forwarding.ts';
import { accessTo } from '../commands/doctor/access-to.ts';
import { fileDestination } from '../support/actions.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { outputsForTests } from '../support/outputs.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';
import { tcpServer } from '../support/tcp-server.ts';

const NEW_KEY = Buffer.alloc(32, 2).toString('base64');

const TOKEN = 'a-token-of-splunk';
const splunk = { type: 'splunk_hec', url: 'https://splunk.example:8088', token: TOKEN };
const syslog = { type: 'syslog', host: 'siem.example', transport: 'tcp' };

const test = useDatabase();
const directory = useDirectory();

let outputs: ReturnType<typeof outputsForTests>;
let admin: RunningAdmin;
beforeAll(async () => {
  outputs = outputsForTests(test.db, [fileDestination('archive', directory)]);
  admin = await startAdmin([outputs.destinations, outputs.alerts], test.db);
});
afterAll(() => admin.close());
beforeEach(() => test.query`delete from added_outputs`);

const names = () => outputs.live.config.destinations.map(({ name }) => name);

const add = (name: string, options: object) => admin.post('/destinations', { name, ...options });

const Listed = z.object({
  items: z.array(z.looseObject({ name: z.string(), origin: z.string().nullable() })),
});

describe('a destination that is added', () => {
  it('in a body that is nested too deep is refused with the reason', async () => {
    const body = `{"name":"deep","type":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${admin.url}/api/v1/destinations`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('200 levels');
  });

  it('is in force at once, and its credentials are readable nowhere', async () => {
    await add('splunk', splunk);
    expect(names()).toEqual(['archive', 'splunk']);
    const { items } = Listed.parse(await admin.get('/destinations'));
    expect(items.map(({ name, origin }) => [name, origin])).toEqual([
      ['archive', 'settings'],
      ['splunk', 'database'],
    ]);
    const actions = await listActions(test.db, { limit: 1 });
    expect(actions).toMatchObject([
      { action: 'destination.add', subject: 'splunk', details: { url: splunk.url }, outcome: 'done' },
    ]);
    const stored = await listAddedOutputs(test.db);
    expect(JSON.stringify(stored)).toMatch(/"token":{"sealed":"v1\./);
    expect(JSON.stringify([stored, actions, await admin.page('/destinations/splunk')])).not.toContain(TOKEN);
    await using reader = openDatabase(test.readerUrl, () => undefined);
    await expect(sql`select * from added_outputs`.execute(reader)).rejects.toThrow('permission denied');
  });

  it('is the same in the settings file that the export makes', async () => {
    await add('splunk', { ...splunk, filter: { search: 'type:audit' } });
    await add('hook', { type: 'https', url: 'https://a.example/?key=1', headers: { 'x-key': 'two' } });
    await add('hook-2', { type: 'https', url: 'https://b.example/?key=3' });
    await add('hook_2', { type: 'https', url: 'https://c.example/?key=4' });
    await admin.post('/alert-rules', { use: 'logins-failed', count: 3, destinations: ['splunk'] });
    const file = path.join(directory, 'settings.yaml');
    await writeFile(file, await outputs.added());
    const exported = loadSettings({
      XIQ_SINK_CONFIG: file,
      SPLUNK_TOKEN: TOKEN,
      HOOK_URL: 'https://a.example/?key=1',
      HOOK_HEADERS_X_KEY: 'two',
      HOOK_2_URL: 'https://b.example/?key=3',
      HOOK_2_URL_2: 'https://c.example/?key=4',
    });
    const formats = (list: readonly { name: string; formatName: string; filter: unknown }[]) =>
      list.map(({ name, formatName, filter }) => ({ name, formatName, filter }));
    expect(formats(exported.destinations)).toEqual(formats(outputs.live.config.destinations.slice(1)));
    expect(exported.rules).toMatchObject([{ name: 'logins-failed', count: 3, destinations: ['splunk'] }]);
  });

  it.each([
    [{ ...splunk, token: { env: 'HOME' } }, /token/],
    [{ ...splunk, token: { file: '/etc/hostname' } }, /token/],
    [{ ...splunk, tls: { ca: { file: '/etc/hostname' } } }, /tls\.ca/],
    [{ type: 'file', path: '/tmp/x' }, /type: only the settings/],
    [{ type: 'stdout' }, /type: only the settings/],
    [{ type: 'https', url: 'https://10.0.0.1/', allow_private: true }, /allow_private: only the settings/],
    [{ type: 'https', url: 'https://a.example/', more: 'allow_private: true' }, /allow_private: only/],
    [{ ...syslog, port: 'x' }, /port/],
    [{ ...syslog, more: '- a list' }, /more: must be options/],
    [{ ...splunk, token: 'with spaces in it' }, /token: must be printable/],
    [{ ...splunk, tokn: 'with spaces in it' }, /tokn/],
    [{ type: 's3', bucket: 'events' }, /access_key_id: only the settings may omit it/],
  ])('%j is refused', async (options, message) => {
    const error = await add('wrong', options).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/answered 400/);
    expect(String(error)).toMatch(message);
    const recorded = await listActions(test.db, { limit: 10 });
    expect(JSON.stringify([String(error), recorded])).not.toContain('with spaces in it');
    expect(await listAddedOutputs(test.db)).toEqual([]);
  });

  it('cannot have a name that is taken, or that of the settings, which a reload refuses', async () => {
    await add('splunk', splunk);
    await expect(add('splunk', syslog)).rejects.toThrow(
      /answered 409.*there is already a destination .*splunk/s,
    );
    await expect(add('archive', syslog)).rejects.toThrow(
      /answered 409.*is in the settings: change it there/s,
    );
    await expect(admin.post('/destinations/archive/delete', {})).rejects.toThrow(/is in the settings/);
    const conflict = { kind: 'destination', name: 'archive', definition: syslog } as const;
    outputs.live.useOutputs([conflict]);
    expect(outputs.live.config.destinations).toMatchObject([{ name: 'archive', type: 'file' }]);
    await expect(outputs.live.reload()).rejects.toThrow(
      /destination "archive" is in the settings and was also added in the console/,
    );
    outputs.live.useOutputs([]);
    await outputs.live.reload();
  });

  it('needs a name that is one', async () => {
    await expect(add('no name', syslog)).rejects.toThrow(/answered 400.*name /s);
  });

  it('needs SECRETS_KEY if it has a credential', async () => {
    const { destinations } = outputsForTests(test.db, [], {});
    const keyless = await startAdmin([destinations], test.db);
    await keyless.post('/destinations', { name: 'plain', ...syslog });
    await expect(keyless.post('/destinations', { name: 'splunk', ...splunk })).rejects.toThrow(
      /cannot store the secret: set SECRETS_KEY/,
    );
    await keyless.close();
    expect((await listAddedOutputs(test.db)).map(({ name }) => name)).toEqual(['plain']);
  });

  it('receives a test event before it is saved, which the operator log knows', async () => {
    let received = '';
    const { port } = await tcpServer((socket) => {
      socket.on('data', (bytes) => (received += bytes.toString()));
    });
    const options = { name: 'new', ...syslog, host: '127.0.0.1', port, timeout_seconds: 0.5 };
    expect(await admin.post('/destinations/try', options)).toMatchObject({ name: 'new', refusal: null });
    expect(received).toContain('XIQ-SINK-TEST');
    expect(await listActions(test.db, { limit: 1 })).toMatchObject([
      { action: 'destination.test', subject: 'new', details: { port } },
    ]);
    expect(await listAddedOutputs(test.db)).toEqual([]);
    await expect(admin.post('/destinations/try', { ...options, port: 1 })).rejects.toThrow(
      /answered 502.*can't send to new/s,
    );
  });
});

describe('a change', () => {
  const secretOf = async () => {
    const { destinations, problems } = joinDestinations(
      { ...outputs.live.config, destinations: [] },
      await listAddedOutputs(test.db),
    );
    return { fingerprint: destinations[0]?.fingerprint, problems };
  };

  it('keeps the credential only if it goes to the same receiver', async () => {
    await add('splunk', splunk);
    const before = await secretOf();
    const { token: _token, ...same } = splunk;
    await admin.post('/destinations/splunk/change', { ...same, format: 'ecs' });
    await admin.post('/destinations/splunk/change', same);
    expect(await secretOf()).toEqual(before);
    const elsewhere = { ...same, url: 'https://evil.example' };
    for (const route of ['/destinations/splunk/change', '/destinations/try']) {
      await expect(admin.post(route, { name: 'splunk', ...elsewhere })).rejects.toThrow(
        /answered 400.*enter all credentials again/s,
      );
    }
    await admin.post('/destinations/splunk/change', { ...elsewhere, token: 'another' });
    expect((await secretOf()).fingerprint).not.toBe(before.fingerprint);
  });

  it('of a secret address needs all other secrets again', async () => {
    await add('hook', { type: 'https', url: 'https://a.example/one', headers: { 'x-key': 'two' } });
    const change = (more: object) => admin.post('/destinations/hook/change', { type: 'https', ...more });
    await expect(change({ url: 'https://evil.example/' })).rejects.toThrow(/enter all credentials again/);
    await change({ url: 'https://evil.example/', headers: { 'x-key': 'three' } });
  });

  it('cannot use the encrypted secret of another destination', async () => {
    await add('splunk', splunk);
    const [{ definition } = { definition: {} }] = await listAddedOutputs(test.db);
    await expect(add('other', { ...definition, url: 'https://evil.example' })).rejects.toThrow(
      /token: .*belongs to another name/,
    );
  });

  it('that deletes it leaves its state, and waits for the rules that send there', async () => {
    await add('splunk', splunk);
    await admin.post('/alert-rules', { use: 'many-keys-made', destinations: ['splunk'] });
    await expect(admin.post('/destinations/splunk/delete', {})).rejects.toThrow(
      /answered 409.*many-keys-made.* sends its alerts to .*splunk/s,
    );
    await admin.post('/alert-rules/many-keys-made/delete', {});
    await admin.post('/destinations/splunk/delete', {});
    expect(names()).toEqual(['archive']);
    await expect(admin.post('/destinations/splunk/delete', {})).rejects.toThrow(/answered 404/);
  });

  it('that deletes it while a rule that sends there is being saved shows in the rule', async () => {
    await add('splunk', splunk);
    await admin.post('/alert-rules', { use: 'many-keys-made', destinations: ['splunk'] });
    const config = loadSettings({ SECRETS_KEY });
    expect(await checkAlertRules(accessTo(test), config)).toMatchObject({ status: 'ok' });
    await deleteOutput(test.db, 'destination', 'splunk');
    outputs.live.useOutputs(await listAddedOutputs(test.db));
    expect(await checkAlertRules(accessTo(test), config)).toMatchObject({ status: 'warn' });
    expect(await admin.page('/alerts')).toContain('destination missing');
  });

  it('of the key encrypts every credential again, and changes nothing else', async () => {
    await add('splunk', splunk);
    const before = await secretOf();
    const both = loadSettings({ SECRETS_KEY: `${NEW_KEY},${SECRETS_KEY}` });
    const alone = loadSettings({ SECRETS_KEY: NEW_KEY });
    const rows = await listAddedOutputs(test.db);
    expect(joinDestinations(alone, rows)).toMatchObject({ destinations: [], names: ['splunk'] });
    expect(joinDestinations(alone, rows).problems.join()).toMatch(
      /"splunk": token: .*a key that is not in SECRETS_KEY/,
    );
    expect(await reencryptDestinations(test.db, both)).toBe(1);
    const [after] = joinDestinations(alone, await listAddedOutputs(test.db)).destinations;
    expect(after?.fingerprint).toBe(before.fingerprint);
  });
});

/** The texts of the options of each type: those that are encrypted, and the others. */
const SECRET: Readonly<Record<string, readonly string[]>> = {
  syslog: ['tls.key'],
  'relp+tls': ['tls.key'],
  splunk_hec: ['tls.key', 'token'],
  elasticsearch: ['api_key', 'password', 'tls.key'],
  https: ['headers.*', 'signing_secret', 'tls.key', 'url'],
  otlp: ['headers.*', 'tls.key'],
  kafka: ['sasl.password', 'tls.key'],
  sentinel: ['client_secret', 'tls.key'],
  s3: ['secret_access_key', 'session_token', 'tls.key'],
  smtp: ['auth.password', 'tls.key'],
  chat: ['tls.key', 'url'],
};

interface JsonSchema {
  readonly type?: string | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
}

const jsonSchema: z.ZodType<JsonSchema> = z.object({
  type: z.string().optional(),
  get properties() {
    return z.record(z.string(), jsonSchema).optional();
  },
  get oneOf() {
    return z.array(jsonSchema).optional();
  },
});

/** Options that have a text in every place. */
function textsOf({ type, properties, oneOf }: JsonSchema): unknown {
  const members = [{ properties }, ...(oneOf ?? [])].flatMap((one) => Object.entries(one.properties ?? {}));
  if (members.length === 0) return type === 'object' ? { '*': 'text' } : 'text';
  return Object.fromEntries(members.map(([name, inner]) => [name, textsOf(inner)]));
}

it.each(Object.entries<SenderType>(SENDER_TYPES))('of %s, all secrets are encrypted', (type, { options }) => {
  const schema = jsonSchema.parse(z.toJSONSchema(options, { unrepresentable: 'any', io: 'input' }));
  const texts = z.record(z.string(), z.unknown()).parse(textsOf(schema));
  const found: string[] = [];
  mapSecrets({ ...texts, type }, (_secret, at) => void found.push(at.join('.')));
  expect(found.toSorted()).toEqual(SECRET[type] ?? []);
});
