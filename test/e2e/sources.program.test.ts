import { connect } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createCloudClient } from '../../src/cloud/client.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { ask } from '../support/ask.ts';
import { auditRecord } from '../support/deliveries.ts';
import { runProgram, SECRET } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { startProxy, through } from '../support/proxy.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, redisForTest, serveForTest } from '../support/for-one-test.ts';

const serve = (settings: Record<string, string>, role = 'all'): Promise<Program> =>
  serveForTest({ TRUST_PROXY: '1', ...settings }, '--role', role);

let sent = 0;

/** Sends one delivery. Resolves with the status of the answer, and its error without what differs each time. */
async function deliver({ url }: Program, source: string, secret: string) {
  sent += 1;
  const { status, text } = await ask(url, {
    method: 'POST',
    path: `/ingest/${source}/AUDIT_LOG_ALL`,
    // From another address each time: wrong secrets are limited by address.
    headers: {
      Authorization: `Bearer ${secret}`,
      'X-Forwarded-For': `10.1.${sent >> 8}.${sent & 255}`,
    },
    body: JSON.stringify([auditRecord({ userId: sent })]),
  });
  return { status, error: text.replace(/"error_id":"[^"]*"/, '') };
}

const statusOf = async (...delivery: Parameters<typeof deliver>) => (await deliver(...delivery)).status;

const Made = z.object({ secret: z.string() });

async function post({ adminUrl }: Program, address: string, body: object = {}) {
  const { status, text } = await ask(adminUrl, {
    method: 'POST',
    path: `/api/v1${address}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = JSON.parse(text);
  return { status, answer };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Waits until a process answers deliveries of a source with this status. Resolves with the milliseconds. */
async function untilAnswered(status: number, ...delivery: Parameters<typeof deliver>): Promise<number> {
  const started = performance.now();
  await waitFor(async () => (await statusOf(...delivery)) === status);
  return performance.now() - started;
}

describe('a source without a restart', () => {
  it('is accepted by every process within a second, gets new secrets, and ends', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const settings = { DATABASE_URL: databaseUrl, WEBHOOK_SECRET: SECRET, SECRETS_KEY };
    const programs = [await serve(settings), await serve(settings, 'ingest')];
    const [all, ingest] = programs;
    if (all === undefined || ingest === undefined) throw new Error('not started');
    const waits: number[] = [];
    const secrets: string[] = [];
    for (const name of ['one', 'two', 'three', 'four', 'five']) {
      const { status, answer } = await post(all, '/sources', { name });
      const { secret } = Made.parse(answer);
      expect(status).toBe(200);
      secrets.push(secret);
      waits.push(...(await Promise.all(programs.map((one) => untilAnswered(200, one, name, secret)))));
      for (const program of programs) {
        expect(await statusOf(program, name, SECRET)).toBe(401);
        expect(await statusOf(program, 'default', secret)).toBe(401);
      }
    }
    process.stdout.write(
      `a new source is accepted after ${Math.round(median(waits))} ms (median of ${waits.length}), ${Math.round(Math.max(...waits))} ms at most\n`,
    );
    expect(median(waits)).toBeLessThan(1_000);

    const [old = ''] = secrets;
    const command = { DATA_DIR: 'unused', ...settings };
    const rotated = await runProgram(command, 'sources', 'rotate', 'one', '--keep', '0.002');
    const [, secret = ''] = /webhook secret: (\w+)/.exec(rotated) ?? [];
    for (const program of programs) {
      await untilAnswered(200, program, 'one', secret);
      await untilAnswered(401, program, 'one', old);
      expect(await statusOf(program, 'one', secret)).toBe(200);
    }
    const limited = await runProgram(command, 'sources', 'add', 'limited', '--deliveries-per-second', '1');
    const [, secretOfLimited = ''] = /webhook secret: (\w+)/.exec(limited) ?? [];
    for (const program of programs) await untilAnswered(429, program, 'limited', secretOfLimited);
    await runProgram(command, 'sources', 'rotate', 'two');
    for (const program of programs) expect(await statusOf(program, 'two', secrets[1] ?? '')).toBe(200);
    await runProgram(command, 'sources', 'rotate', 'two', '--drop-old');
    for (const program of programs) await untilAnswered(401, program, 'two', secrets[1] ?? '');

    await runProgram(command, 'sources', 'disable', 'three');
    for (const program of programs) {
      await untilAnswered(401, program, 'three', secrets[2] ?? '');
      const unknown = await deliver(program, 'nobody', secrets[2] ?? '');
      expect(await deliver(program, 'three', secrets[2] ?? '')).toEqual(unknown);
    }
    // Stored once each, and kept after the source was disabled.
    await waitFor(async () => {
      const rows = await db.selectFrom('deliveries').select('source').distinct().execute();
      return rows.length === 6;
    });
    expect(await runProgram(command, 'sources', 'list')).toMatch(/three +disabled +database/);
    const actions = (await listActions(db, { limit: 50 })).map(
      ({ action, subject }) => `${action} ${subject}`,
    );
    expect(actions.slice(0, 5)).toEqual([
      'source.disable three',
      'source.drop-old two',
      'source.rotate two',
      'source.add limited',
      'source.rotate one',
    ]);
    // No secret is readable: not in the database, not in logs, not in the data directory.
    const rows = JSON.stringify([
      await db.selectFrom('sources').selectAll().execute(),
      await listActions(db, { limit: 50 }),
    ]);
    const outputs = programs.map((program) => program.output()).join('');
    for (const one of [...secrets, secret, SECRETS_KEY]) {
      expect(rows).not.toContain(one);
      expect(outputs).not.toContain(one);
    }
  });

  it('stays in force while the database is away, and after a restart', async () => {
    const { databaseUrl } = await databaseForTest();
    const { hostname: host, port } = new URL(databaseUrl);
    const proxy = await startProxy({ host, port: Number(port) });
    onTestFinished(() => proxy.stop());
    const redis = await redisForTest();
    const settings = {
      DATABASE_URL: through(proxy, databaseUrl),
      REDIS_URL: redis.url,
      WEBHOOK_SECRET: SECRET,
      SECRETS_KEY,
    };
    const direct = { ...settings, DATABASE_URL: databaseUrl, DATA_DIR: 'unused' };
    const DATA_DIR = await directoryForTest();
    const ingest = await serve({ ...settings, DATA_DIR }, 'ingest');
    const added = await runProgram(direct, 'sources', 'add', 'customer');
    const [, secret = ''] = /webhook secret: (\w+)/.exec(added) ?? [];
    await untilAnswered(200, ingest, 'customer', secret);
    const kept = await waitFor(async () => {
      const text = await readFile(path.join(DATA_DIR, 'sources.json'), 'utf8');
      return text.includes('customer') ? text : undefined;
    });
    expect(kept).not.toContain(secret);

    const mend = proxy.cut();
    await waitFor(() => ingest.output().includes("can't read sources"));
    expect(await statusOf(ingest, 'customer', secret)).toBe(200);
    await ingest.end('SIGTERM');
    const again = await serve({ ...settings, DATA_DIR }, 'ingest');
    expect(await statusOf(again, 'customer', secret)).toBe(200);
    expect(await statusOf(again, 'customer', SECRET)).toBe(401);
    // A process that never read the sources asks to send again, whatever the secret and the source.
    const fresh = await serve(settings, 'ingest');
    expect(await statusOf(fresh, 'customer', secret)).toBe(503);
    expect(await statusOf(fresh, 'nobody', secret)).toBe(503);
    expect(await statusOf(fresh, 'default', SECRET)).toBe(200);
    mend();
    await untilAnswered(200, fresh, 'customer', secret);
    expect(await statusOf(fresh, 'nobody', secret)).toBe(401);
  });

  it('is subscribed in the cloud, also with its next secret, and the old one is accepted meanwhile', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const emulator = createEmulator({ rate: 0 });
    const apiUrl = await emulator.listen(0);
    onTestFinished(() => emulator.close());
    const { username, password } = EMULATOR_LOGINS.administrator;
    const client = createCloudClient({ baseUrl: apiUrl, credentials: { username, password } });
    const settings = {
      DATABASE_URL: databaseUrl,
      WEBHOOK_SECRET: SECRET,
      SECRETS_KEY,
      PUBLIC_URL: 'http://127.0.0.1:9',
      SUBSCRIBE: 'auto',
      // An account of its own for the default source: both sources share the cloud.
      CLOUD_API_URL: apiUrl,
      CLOUD_USERNAME: username,
      CLOUD_PASSWORD: password,
      MESSAGE_TYPES: 'AUDIT_LOG_ALL',
    };
    const program = await serve(settings);
    const heldBy = async (source: string) => {
      const list = await client.subscriptions.list();
      if (!list.available) throw new Error('the emulator lists no subscriptions');
      return list.subscriptions.filter(({ url }) => url?.includes(`/ingest/${source}/`) === true);
    };
    await waitFor(async () => (await heldBy('default')).length === 1);
    const { answer } = await post(program, '/sources', { name: 'east', api_url: apiUrl, username, password });
    const { secret: first } = Made.parse(answer);
    const [subscription] = await waitFor(async () => {
      const held = await heldBy('east');
      return held.length === 1 ? held : undefined;
    });
    expect(subscription?.secret).toBe(first);
    expect(await heldBy('default')).toHaveLength(1);

    const rotated = await post(program, '/sources/east/rotate');
    const { secret: second } = Made.parse(rotated.answer);
    await waitFor(async () => (await heldBy('east'))[0]?.secret === second);
    // Registered only after the processes accept it.
    expect(await statusOf(program, 'east', second)).toBe(200);
    expect(await statusOf(program, 'east', first)).toBe(200);
    // A disabled source keeps its subscriptions: those of other sources are no surplus.
    await post(program, '/sources/east/disable');
    await untilAnswered(401, program, 'east', second);
    const checks = () => program.output().split('the subscriptions match').length;
    expect(checks()).toBeGreaterThan(0);
    expect(await heldBy('east')).toHaveLength(1);
    expect(JSON.stringify(await db.selectFrom('sources').selectAll().execute())).not.toContain(password);
  });
});

const Reloaded = z.object({
  changed: z.array(z.string()),
  needs_restart: z.array(z.string()),
  errors: z.array(z.string()),
});

describe('a reload', () => {
  it('changes destinations under load, and each gets every event once it is there', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const directory = await directoryForTest();
    const file = path.join(directory, 'settings.yaml');
    const destination = (name: string, more: object = {}) => ({
      name,
      type: 'file',
      path: path.join(directory, `${name}.jsonl`),
      ...more,
    });
    const configure = (content: object) => writeFile(file, JSON.stringify(content));
    const usersIn = async (name: string) => {
      const text = await readFile(path.join(directory, `${name}.jsonl`), 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => /"user_id":"?(\d+)/.exec(line)?.[1] ?? '');
    };
    await configure({ destinations: [destination('first'), destination('second')] });
    const program = await serve({ DATABASE_URL: databaseUrl, XIQ_SINK_CONFIG: file });
    const answers: number[] = [];
    const begin = sent;
    const stop = new AbortController();
    const sending = (async () => {
      while (!stop.signal.aborted) answers.push(await statusOf(program, 'default', SECRET));
    })();
    const reload = async () => Reloaded.parse((await post(program, '/reload')).answer);
    await waitFor(async () => (await usersIn('first')).length > 5);
    await configure({ destinations: [destination('first', { batch: { events: 7 } }), destination('third')] });
    expect(await reload()).toEqual({
      changed: ['destination first changed', 'destination second removed', 'destination third added'],
      needs_restart: [],
      errors: [],
    });
    const beforeThird = sent;
    await waitFor(async () => (await usersIn('third')).length > 5);
    // By the signal, and several at once.
    await configure({ destinations: [destination('first'), destination('second'), destination('third')] });
    for (const _ of [1, 2, 3]) program.signal('SIGHUP');
    await waitFor(() => program.output().includes('destination second added'));
    const beforeEnd = sent;
    await waitFor(() => sent > beforeEnd + 20);
    stop.abort();
    await sending;
    const all = Array.from({ length: sent - begin }, (_, index) => String(begin + index + 1));
    expect(new Set(answers)).toEqual(new Set([200]));
    // The removed one continues where it was; nobody misses an event.
    for (const name of ['first', 'second']) {
      await waitFor(async () => new Set(await usersIn(name)).size === all.length);
      expect([...new Set(await usersIn(name))].toSorted()).toEqual(all.toSorted());
    }
    const third = await waitFor(async () => {
      const got = new Set(await usersIn('third'));
      return all.filter((user) => Number(user) > beforeThird).every((user) => got.has(user))
        ? got
        : undefined;
    });
    expect(third.size).toBeLessThan(all.length);
    const logged = await waitFor(async () => {
      const actions = await listActions(db, { limit: 10 });
      return actions.length > 1 && actions.every(({ outcome }) => outcome !== null) ? actions : undefined;
    });
    const [first, ...later] = logged
      .toReversed()
      .filter(({ action }) => action !== 'service.start')
      .map(({ operator, via, action, outcome }) => `${operator} ${via} ${action} ${outcome}`);
    expect(first).toBe('local user api settings.reload done');
    // Signals that arrive together may be one.
    expect(new Set(later)).toEqual(new Set(['SIGHUP system settings.reload done']));
  });

  it('changes nothing if a setting is wrong, and otherwise secrets of files, while requests in flight go on', async () => {
    const { databaseUrl } = await databaseForTest();
    const directory = await directoryForTest();
    const file = path.join(directory, 'settings.yaml');
    const secretFile = path.join(directory, 'secret');
    const configure = (more: object) =>
      writeFile(
        file,
        JSON.stringify({ sources: [{ name: 'default', webhook_secrets: [{ file: secretFile }], ...more }] }),
      );
    await writeFile(secretFile, `${SECRET}\n`);
    await configure({});
    const program = await serve({ DATABASE_URL: databaseUrl, WEBHOOK_SECRET: '', XIQ_SINK_CONFIG: file });
    const next = 'the-next-secret-0123456789';
    await writeFile(secretFile, next);
    await configure({ message_types: ['NO_SUCH_TYPE'] });
    const wrong = await post(program, '/reload');
    expect(wrong).toMatchObject({ status: 400, answer: { error_code: 'WRONG_SETTINGS' } });
    expect(JSON.stringify(wrong.answer)).toContain('message_types');
    expect(await statusOf(program, 'default', SECRET)).toBe(200);
    expect(await statusOf(program, 'default', next)).toBe(401);

    // A delivery whose secret is verified when its headers arrive, and whose body ends after the reload.
    const body = JSON.stringify([auditRecord({ userId: 1 })]);
    const socket = connect(Number(new URL(program.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    onTestFinished(() => void socket.destroy());
    socket.write(
      `POST /ingest/default/AUDIT_LOG_ALL HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SECRET}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    // Answered after the first bytes above have been read: the same event loop reads both.
    expect(await statusOf(program, 'default', SECRET)).toBe(200);
    await configure({ message_types: ['SMS_LOG_ALL'] });
    expect(await post(program, '/reload')).toMatchObject({
      status: 200,
      answer: { changed: ['source default changed'], needs_restart: [], errors: [] },
    });
    expect(await statusOf(program, 'default', SECRET)).toBe(401);
    expect(await statusOf(program, 'default', next)).toBe(200);
    socket.write(body.slice(5));
    await waitFor(() => answer !== '');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});
