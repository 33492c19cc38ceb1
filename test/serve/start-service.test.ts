import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createEmulator } from '../../emulator/emulator.ts';
import type { Role } from '../../src/config/roles.ts';
import { UsageError } from '../../src/lib/errors.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { listProcesses } from '../../src/store/server/processes.ts';
import { ask } from '../support/ask.ts';
import { createOwnedDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { cloudSettings } from '../support/emulator.ts';
import { postDelivery, SECRET } from '../support/program.ts';
import { startProxy, through } from '../support/proxy.ts';
import { startForTest, startLocally, type LocalService } from '../support/service.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { tcpServer } from '../support/tcp-server.ts';
import { useDatabase } from '../support/use-database.ts';
import { newDirectory, useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase();
const directory = useDirectory();
const emulator = createEmulator({ rate: 0, scale: { devices: 20, clients: 5, users: 5 } });
const received = path.join(directory, 'archive.jsonl');
let settings: Record<string, string>;
let service: LocalService;
beforeAll(async () => {
  const config = path.join(directory, 'settings.yaml');
  await writeFile(
    config,
    JSON.stringify({
      destinations: [{ name: 'archive', type: 'file', path: received, filter: { users: ['eve', 'ann'] } }],
      alerts: [{ name: 'of-eve', filter: { users: ['eve'] } }],
    }),
  );
  settings = {
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: directory,
    XIQ_SINK_CONFIG: config,
    ...cloudSettings(await emulator.listen(0)),
    HISTORY: 'off',
    SECRETS_KEY,
  };
  service = await startLocally(settings);
});
afterAll(async () => {
  await service.stop();
  await emulator.close();
});

const Items = z.object({ items: z.array(z.object({ event_id: z.string() })) });
const Made = z.object({ secret: z.string() });

const SIEM = { type: 'syslog', transport: 'tcp', host: '127.0.0.1', port: 1, format: 'json', confirm: false };

const api = async (address: string, body?: object, { adminUrl } = service): Promise<unknown> => {
  const { status, text } = await ask(adminUrl, {
    path: `/api/v1${address}`,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'Content-Type': 'application/json' },
  });
  expect([status, text]).toEqual([200, expect.anything()]);
  return JSON.parse(text);
};

const ready = async ({ url }: Pick<LocalService, 'url'>) => {
  const { status, text } = await ask(url, { path: '/readyz' });
  return { code: status, answer: JSON.parse(text) as unknown };
};

const deliver = (...users: string[]) =>
  postDelivery(
    service,
    'AUDIT_LOG_ALL',
    users.map((userName) => auditRecord({ userName })),
  );

const lineWith = (text: string) => service.lines.find((line) => line.includes(text));

describe('a service with the role all', () => {
  it('is ready, with each of its parts', async () => {
    const parts = ['queue', 'spool', 'database', 'locks', 'start', 'storing', 'seal', 'forwarding', 'cloud'];
    const checks = Object.fromEntries([...parts, 'silence'].map((part) => [part, 'ok']));
    expect(await ready(service)).toEqual({ code: 200, answer: { status: 'ok', checks } });
    expect(service).toMatchObject({ psqlArgument: undefined, secrets: { generated: undefined } });
    expect(await api('/system')).toMatchObject({ queue: { waiting: 0 }, problems: [] });
    const started = await listActions(test.db, { action: 'service.start', limit: 9 });
    expect(started).toMatchObject([{ subject: 'all', outcome: 'done' }]);
  });

  it('shows how to send a first delivery until one has come, which it stores, forwards and judges', async () => {
    const overview = () => ask(service.adminUrl, { path: '/', headers: { Accept: 'text/html' } });
    expect((await overview()).text).toContain('http://localhost:0/ingest/default/AUDIT_LOG_ALL');
    await waitFor(async () =>
      JSON.stringify(await test.query`select rules from rule_progress`).includes('of-eve'),
    );
    expect((await deliver('bob', 'ann', 'eve')).status).toBe(200);
    const taken = () => readFile(received, 'utf8').catch(() => '');
    await waitFor(async () => /"ann"[^]*"eve"/.test(await taken()));
    expect(await taken()).not.toContain('"bob"');
    await waitFor(() => lineWith('rule of-eve raised an alert'));
    const outcomeOf = async (user: string) => {
      const [found] = Items.parse(await api(`/events?q=user:${user}`)).items;
      return api(`/events/${found?.event_id}`);
    };
    expect(await outcomeOf('bob')).toMatchObject({ forwarding: [{ outcome: 'filtered' }] });
    await waitFor(async () => JSON.stringify(await outcomeOf('ann')).includes('"sent"'));
    const { text } = await ask(service.adminUrl, { path: '/metrics' });
    expect(text).toContain('xiq_sink_alerts_total{rule="of-eve"} 1');
    expect(text).toContain('xiq_sink_forward_sent_total{destination="archive"} 2');
    const silences = await waitFor(async () => {
      const found = JSON.stringify(await api('/silences'));
      return found.includes('AUDIT_LOG_ALL') ? found : undefined;
    });
    expect(silences).toContain('not enough history yet (needs four weeks)');
    // Sums are counted a moment later.
    await waitFor(async () => JSON.stringify(await api('/overview')).includes('"has_arrived":true'));
    expect(await api('/overview')).toMatchObject({ problems: [] });
  });

  it('reads the inventory of its cloud, and says what its subscriptions still need', async () => {
    const counts = () => test.query`
      select (select count(*)::int from devices) as devices, (select count(*)::int from locations) as locations,
        (select count(*)::int from people) as people`;
    await waitFor(async () => JSON.stringify(await counts()) === '[{"devices":20,"locations":5,"people":3}]');
    expect(await api('/subscriptions')).toEqual({ items: [], next_cursor: null, missing: ['PUBLIC_URL'] });
  });

  it('reports that it is alive, and what it does', async () => {
    const [listed] = await waitFor(async () => {
      const found = await listProcesses(test.db);
      return found.length > 0 ? found : undefined;
    });
    expect(listed).toMatchObject({ role: 'all', pid: process.pid, is_alive: true });
    expect(listed?.figures).toMatchObject({
      queueWorks: true,
      spool: { bytes: 0, segments: 0, oldestSeconds: 0 },
    });
    expect(listed?.figures?.problems).toEqual([]);
    expect(listed?.figures?.memoryBytes).toBeGreaterThan(50e6);
  });

  it('has a source or a destination that is added in force within seconds', async () => {
    const { secret } = Made.parse(await api('/sources', { name: 'east' }));
    const statusOf = async (authorization: string) => {
      const url = `${service.url}/ingest/east/AUDIT_LOG_ALL`;
      return (await fetch(url, { method: 'POST', headers: { authorization }, body: '[]' })).status;
    };
    // To ask again and again would be refused as guessing.
    await waitFor(() => lineWith('source east added'));
    expect(await statusOf(`Bearer ${secret}`)).toBe(200);
    expect(await statusOf(`Bearer ${SECRET}`)).toBe(401);
    await api('/destinations', { name: 'siem', ...SIEM });
    await waitFor(async () => (await test.query`select from destinations where name = 'siem'`).length === 1);
    expect(lineWith('the destinations have changed')).toContain('destination siem added');
  });

  it('puts other settings in force with a reload, which is in the operator log', async () => {
    Object.assign(settings, { LOG_LEVEL: 'warn', RETENTION_AUDIT_MONTHS: '7', DRAIN_SECONDS: '0' });
    await service.reload('SIGHUP');
    expect(await listActions(test.db, { action: 'settings.reload', limit: 9 })).toMatchObject([
      {
        operator: 'SIGHUP',
        via: 'system',
        outcome: 'done',
        result: { changed: ['RETENTION_AUDIT_MONTHS', 'LOG_LEVEL'], needs_restart: ['DRAIN_SECONDS'] },
      },
    ]);
    expect(await api('/settings')).toMatchObject({
      retentionMonths: expect.stringContaining('audit: 7,') as unknown,
    });
    Object.assign(settings, { PORT: 'x' });
    await service.reload('SIGHUP');
    expect(lineWith('PORT must be')).toContain('settings not reloaded');
    expect(await listActions(test.db, { action: 'settings.reload', limit: 1 })).toMatchObject([
      { outcome: 'failed' },
    ]);
  });

  it('is not ready while it drains, but accepts deliveries; and leaves nothing behind', async () => {
    service.drain();
    expect(await ready(service)).toEqual({
      code: 503,
      answer: { status: 'unavailable', checks: { process: 'stopping' } },
    });
    expect((await deliver('late')).status).toBe(200);
    await waitFor(
      async () => (await test.query`select from audit_log where user_name = 'late'`).length === 1,
    );
    await api('/events?q=user:late');
    await service.stop();
    const sessions = () =>
      test.query`select from pg_stat_activity where datname = current_database() and usename <> current_user`;
    await waitFor(async () => (await sessions()).length === 0, 5_000);
    const [left] = await test.query`
      select (select count(*)::int from processes) as processes, (select count(*)::int from history_leases) as leases,
        (select count(*)::int from destinations where lease_holder is not null) as senders`;
    expect(left).toEqual({ processes: 0, leases: 0, senders: 0 });
    await expect(deliver()).rejects.toThrow('fetch failed');
  });
});

it('accepts deliveries while its database is away, and stores them once that is there', async () => {
  const { db, databaseUrl } = await databaseForTest();
  const { hostname, port } = new URL(databaseUrl);
  const network = await startProxy({ host: hostname, port: Number(port) });
  onTestFinished(() => network.stop());
  const heal = network.cut();
  const late = await startForTest({
    DATABASE_URL: through(network, databaseUrl),
    DATA_DIR: await newDirectory(),
  });
  const answer = await postDelivery(late, 'AUDIT_LOG_ALL', [auditRecord()]);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    expect.objectContaining({ durability: 'spooled' }),
  ]);
  expect(await ready(late)).toMatchObject({ answer: { status: 'degraded', checks: { start: 'starting' } } });
  await late.reload('SIGHUP');
  expect(late.lines.some((line) => line.includes('the reload was not recorded in the operator log'))).toBe(
    true,
  );
  heal();
  await waitFor(async () => (await db.selectFrom('audit_events').selectAll().execute()).length === 1);
  await waitFor(() => late.lines.some((line) => line.includes('storing and forwarding have started')));
});

it('of another role has its parts alone, and what is added in one process is in force in the others', async () => {
  const { db, databaseUrl } = await databaseForTest();
  const start = async (role: Role) =>
    startForTest({ DATABASE_URL: databaseUrl, DATA_DIR: await newDirectory(), SECRETS_KEY }, { role });
  const worker = await start('worker');
  const others = [await start('ingest'), await start('forward'), await start('console')];
  const partsOf = async (one: LocalService) => {
    const { answer } = await ready(one);
    return Object.keys(z.object({ checks: z.record(z.string(), z.string()) }).parse(answer).checks).join(' ');
  };
  expect(await Promise.all([worker, ...others].map(partsOf))).toEqual([
    'database locks start storing seal cloud silence',
    'queue spool database locks',
    'database locks start forwarding',
    'database locks start',
  ]);
  const KINDS = ['queue_works', 'verify_age_seconds', 'forward_sent_total'];
  const metricsOf = async ({ adminUrl }: LocalService) => {
    const { text } = await ask(adminUrl, { path: '/metrics' });
    return KINDS.filter((name) => text.includes(`# TYPE xiq_sink_${name} `)).join(' ');
  };
  expect(await Promise.all([worker, ...others].map(metricsOf))).toEqual([
    'verify_age_seconds',
    'queue_works',
    'forward_sent_total',
    '',
  ]);
  const statuses = [worker, ...others].map(async (one) => {
    const [page, delivery] = [
      await ask(one.adminUrl, { path: '/' }),
      await postDelivery(one, 'SMS_LOG_ALL', []),
    ];
    return [page.status, delivery.status];
  });
  expect(await Promise.all(statuses)).toEqual([
    [404, 404],
    [404, 200],
    [404, 404],
    [200, 404],
  ]);
  await api('/destinations', { name: 'siem', ...SIEM }, others[2]);
  await api('/alert-rules', { name: 'of-eve', search: 'user:eve' }, others[2]);
  await waitFor(async () => (await db.selectFrom('destinations').selectAll().execute()).length === 1);
  await waitFor(async () =>
    JSON.stringify(await db.selectFrom('rule_progress').select('rules').execute()).includes('of-eve'),
  );
});

describe('a start that cannot be', () => {
  const start = async (given: Record<string, string>, role?: Role, signal?: AbortSignal) => {
    const started = startLocally(
      { DATABASE_URL: test.databaseUrl, DATA_DIR: await newDirectory(), ...given },
      { ...(role && { role }), ...(signal && { signal }) },
    );
    return started.then(
      async (running) => running.stop(),
      (error: unknown) => error,
    );
  };

  it.each<[Record<string, string>, string]>([
    [{ HOST: '192.0.2.1' }, '192.0.2.1 is not an address of this machine. Set HOST'],
    [{ ADMIN_HOST: '192.0.2.1', ADMIN_TOKEN: SECRET }, 'Set ADMIN_HOST'],
    [{ MIGRATE: 'off' }, 'has no tables of xiq-sink'],
  ])('with %j says what to change', async (given, message) => {
    const empty = await createOwnedDatabase();
    onTestFinished(() => empty.drop());
    const error = await start({ DATABASE_URL: empty.databaseUrl, ...given });
    expect([error instanceof UsageError, String(error)]).toEqual([true, expect.stringContaining(message)]);
  });

  it('because of a port names its setting', async () => {
    const port = String((await tcpServer(() => undefined)).port);
    for (const [setting, name] of [
      ['PORT', 'set PORT to'],
      ['ADMIN_PORT', 'set ADMIN_PORT to'],
    ] as const) {
      expect(String(await start({ [setting]: port }))).toContain(`Port ${port} is already in use`);
      expect(String(await start({ [setting]: port }))).toContain(name);
    }
  });

  it('strict, without a database to know what is stored', async () => {
    const settings = { DATABASE_URL: '', REDIS_URL: 'redis://127.0.0.1:1', DURABILITY: 'strict' };
    expect(await start(settings, 'ingest')).toBeInstanceOf(UsageError);
  });

  it('because it was stopped throws the reason', async () => {
    expect(await start({}, 'all', AbortSignal.abort('stopped'))).toBe('stopped');
  });
});
