import { chmod, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { fakeClockLibrary, fakeClockSettings, setClock } from '../../faults/clock.ts';
import { emptyRedis, BACKENDS } from '../../support/backends.ts';
import { endOfProgram, SECRET } from '../../support/program.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../../support/for-one-test.ts';

import { examine, like, ONLY_FSYNC, startCloud } from './examine.ts';
import { tcpServer } from '../../support/tcp-server.ts';

const directory = useDirectory();

describe('doctor', () => {
  const backends = BACKENDS.filter(({ available }) => available);
  it.each(backends)('finds everything in order beside a running program, $backend', async ({ usesRedis }) => {
    const { databaseUrl, readerUrl } = await databaseForTest();
    const settings = {
      ...(await startCloud()),
      DATABASE_URL: databaseUrl,
      READER_DATABASE_URL: readerUrl,
      ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
      DATA_DIR: path.join(directory, String(usesRedis)),
      WEBHOOK_SECRET: SECRET,
      FORWARD_TO: `file:${path.join(directory, 'events.jsonl')}`,
      PUBLIC_URL: `http://127.0.0.1:${await freePort()}`,
    };
    const port = new URL(settings.PUBLIC_URL).port;
    const program = await serveForTest({ ...settings, PORT: port, SUBSCRIBE: 'auto' });
    await waitFor(() => program.output().includes('subscriptions repaired'));
    const { code, told } = await examine(settings);
    expect(
      Object.entries(told).filter(([, text]) => !text.startsWith('ok ') && !ONLY_FSYNC.test(text)),
    ).toEqual([]);
    expect(told).toMatchObject({
      database: like(/Postgres \d+/),
      migrations: like(/all \d+ applied/),
      roles: 'ok xiq_sink and xiq_reader have only the privileges they need',
      queue: like(usesRedis ? /in Redis: 0 batches waiting/ : /in Postgres: 0 batches waiting/),
      'cloud clock': like(/agrees/),
      api: like(/logs in as/),
      subscriptions: like(/^ok (?:9|10) subscriptions up to date/),
      'public address': like(/a firewall may still block/),
      'destination default': 'ok running, up to date',
    });
    expect(code).toBe(0);
  });

  it('warns about a data directory that other users can list', async () => {
    const dataDir = await directoryForTest();
    const stateAt = async (mode: number) => {
      await chmod(dataDir, mode);
      return (await examine({ DATA_DIR: dataDir })).told['data directory'];
    };
    expect(await stateAt(0o755)).toMatch(/^warn other users .*\(mode 755\)/);
    expect(await stateAt(0o700)).toMatch(/^ok .* has mode 700/);
    expect(await stateAt(0o711)).toMatch(/^ok /);
  });

  it('waits for nobody longer than its time', async () => {
    const { port } = await tcpServer(() => undefined);
    const started = performance.now();
    const { code, told } = await examine({
      DATABASE_URL: `postgresql://127.0.0.1:${port}/x`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      CLOUD_API_URL: `http://127.0.0.1:${port}`,
      CLOUD_API_TOKEN: 'abcdefghijklmnop',
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATA_DIR: directory,
    });
    const late = 'fail no answer within 5 s';
    expect(told).toMatchObject({
      database: late,
      queue: late,
      'cloud clock': late,
      'public address': late,
      clock: 'skipped needs database',
      api: 'skipped needs cloud clock',
    });
    expect(code).toBe(1);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('sets nothing up, and starts an embedded database that is there for its time', async () => {
    const dataDir = await directoryForTest();
    const { code, told } = await examine({ DATA_DIR: dataDir });
    expect(told['database']).toBe('warn not created yet');
    expect(code).toBe(0);
    expect(await readdir(dataDir)).toEqual([]);

    await endOfProgram({ DATA_DIR: dataDir }, 'migrate');
    expect((await examine({ DATA_DIR: dataDir })).told).toMatchObject({
      database: like(/^ok Postgres .*, runs as \w/),
      queue: like(/^ok in Postgres/),
      partitions: like(/^warn \d+ partitions missing/),
    });
    expect(await readdir(path.join(dataDir, 'postgres', 'cluster'))).not.toContain('postmaster.pid');
  });

  it.skipIf(fakeClockLibrary() === undefined)('tells of a clock that is wrong', async () => {
    const { databaseUrl } = await databaseForTest();
    const settings = { DATABASE_URL: databaseUrl, DATA_DIR: directory, ...(await startCloud()) };
    const clockFile = path.join(directory, 'clock');
    await setClock(clockFile, 3_600);
    const wrong = { ...settings, ...fakeClockSettings(fakeClockLibrary() ?? '', clockFile) };
    const { told } = await examine(wrong, async (...command) => {
      const ended = await endOfProgram(...command);
      return { ...ended, stdout: ended.stdout.toString() };
    });
    expect(told).toMatchObject({
      clock: like(/^fail (?:59 min 59 s|1 h) ahead of the database's/),
      'cloud clock': like(/^fail (?:59 min 59 s|1 h) ahead of the cloud's/),
    });
  });
});
