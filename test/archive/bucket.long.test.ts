import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutObjectRetentionCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { archiveMonth } from '../../src/archive/archive-month.ts';
import { monthsBefore } from '../../src/archive/archive-in-turn.ts';
import { deleteRemoved } from '../../src/archive/delete-removed.ts';
import { openBucketFiles } from '../../src/archive/files/bucket-files.ts';
import { restoreFiles } from '../../src/archive/unarchive.ts';
import { archivedEvents } from '../../src/archive/verify-archive.ts';
import { s3Options } from '../../src/forward/senders/s3/s3-options.ts';
import { listArchivedFiles } from '../../src/store/archive/archived-files.ts';
import type { Db } from '../../src/store/server/database.ts';
import { whyNoMount, mountSmallDisk } from '../faults/disk.ts';
import { startS3 } from '../forward/senders/s3-server.ts';
import { STORED } from '../store/events/varied-events.ts';
import { endOfCommand } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { listen } from '../support/listen.ts';
import { startServerProcess } from '../support/server-process.ts';
import { useDatabase } from '../support/use-database.ts';
import { newDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { OPERATOR, useArchive } from './archived-months.ts';

const MARCH = new Date('2026-03-01T00:00:00Z');
const MIB = 1024 * 1024;
const PREFIX = 'xiq/';

let server: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  server = await startS3();
});
afterAll(() => server[Symbol.asyncDispose]());

const test = useDatabase({ isVaried: true });
const archived = useArchive(test, (directory) => filesIn(directory));

/** The bucket of the server, or another place, with a cache in a directory. */
function filesIn(directory: string, options: object = {}, cacheMaxBytes = 100 * MIB) {
  const parsed = s3Options.parse({ ...server.options, prefix: PREFIX, ...options });
  return openBucketFiles(parsed, directory, cacheMaxBytes);
}

const emptyCache = () =>
  rm(path.join(archived.access.files.directory, '.cache'), { recursive: true, force: true });

const keysOf = (files: readonly { readonly path: string }[]) =>
  files.map((file) => `${PREFIX}${file.path}`).toSorted();

const filesInUse = () => listArchivedFiles(test.service, undefined);

async function verify() {
  await archived.log.seal();
  await using events = archivedEvents(archived.access);
  return await archived.log.verify({ archived: events });
}

/** A question that no other test asks: rows that are loaded already need no file. */
const ask = (unique: string) =>
  sql`select * from location_observations where source <> ${unique}`.execute(archived.events);

async function firstMonth() {
  const [month] = await monthsBefore(test.service, MARCH);
  if (month === undefined) throw new TypeError('there is no month');
  return month;
}

it('months go to the bucket, are read and proven from there, and come back', async () => {
  const rows = async (db: Db) =>
    (await sql`select event_id from location_observations order by 1`.execute(db)).rows;
  const before = await rows(test.service);
  await archived.archiveAll(MARCH);
  const files = await filesInUse();
  expect((await server.keys()).toSorted()).toEqual(keysOf(files));
  const sizes = await archived.access.files.sizes();
  expect(files.filter(({ path: name, bytes }) => sizes.get(name) !== bytes)).toEqual([]);
  const { directory } = archived.access.files;
  expect(await readdir(path.join(directory, '.writing'))).toEqual([]);

  await emptyCache();
  expect(await rows(archived.events)).toEqual(before);
  const { findings, summary } = await verify();
  expect(findings).toEqual([]);
  expect(summary.intact).toBeGreaterThanOrEqual(STORED);

  await restoreFiles(archived.access, files);
  expect(await deleteRemoved(archived.access)).toEqual([]);
  expect(await server.keys()).toEqual([]);
  expect(
    (await readdir(path.join(directory, '.cache'), { recursive: true })).filter((name) =>
      name.endsWith('.parquet'),
    ),
  ).toEqual([]);
  expect(await rows(archived.events)).toEqual(before);
  await archived.archiveAll(MARCH);
});

/** What happens to an object in the bucket. */
const DAMAGED: readonly (readonly [
  name: string,
  damage: (key: string, content: Buffer, other: Buffer) => Promise<unknown>,
])[] = [
  ['is gone', async (key) => server.remove(key)],
  [
    'has a different SHA-256',
    async (key, content) => server.put(key, content.fill(content.readUInt8(200) ^ 1, 200, 201)),
  ],
  ['has 500 bytes', async (key, content) => server.put(key, content.subarray(0, 500))],
  ['has ', async (key, _, other) => server.put(key, other)],
];

it.each(DAMAGED)('an object that %s is named by verify, and never read', async (reason, damage) => {
  const [file, other] = (await filesInUse()).filter(({ table }) => table === 'location_observations');
  if (file === undefined || other === undefined) throw new TypeError('there are too few files');
  const key = `${PREFIX}${file.path}`;
  const content = await server.read(key);
  await damage(key, Buffer.from(content), await server.read(`${PREFIX}${other.path}`));
  // A copy in the cache is of before, and so are its rows.
  const { findings } = await verify();
  expect(findings).toMatchObject([{ subject: 'file', key: file.path }]);
  await emptyCache();
  await expect(ask(reason)).rejects.toThrow(`s3://network-events/${key} ${reason}`);
  await server.put(key, content);
  expect((await verify()).findings).toEqual([]);
});

it('what is in the cache is read while the bucket cannot be reached; the rest is refused, and found by no verification', async () => {
  await ask('before the outage');
  await server.kill();
  try {
    expect((await ask('in the cache')).rows).not.toEqual([]);
    await emptyCache();
    const unreachable =
      /^Can't reach the archive's s3 bucket network-events at http:.*ECONNREFUSED.*Check ARCHIVE_S3/;
    await expect(ask('not in the cache')).rejects.toThrow(unreachable);
    await expect(verify()).rejects.toThrow(unreachable);
    expect(await deleteRemoved(archived.access)).toEqual([
      expect.stringMatching(/^the files were not listed: Can't reach/),
    ]);
  } finally {
    await server.restart();
  }
  expect((await verify()).findings).toEqual([]);
});

it('a month stays while its files cannot be uploaded, and the next attempt removes what there is of them', async () => {
  const files = await filesInUse();
  await restoreFiles(
    archived.access,
    files.filter(({ table }) => table === 'audit_events'),
  );
  const month = await firstMonth();
  const rows = async () => (await test.query`select from ${sql.id(month.partition)}`).length;
  const before = await rows();
  expect(before).toBeGreaterThan(0);
  await server.kill();
  try {
    await expect(archiveMonth(archived.access, month, OPERATOR)).rejects.toThrow("Can't reach");
  } finally {
    await server.restart();
  }
  expect(await rows()).toBe(before);
  const kill = (step: string) => {
    if (step === 'comparing') throw new Error('killed');
  };
  await expect(archiveMonth(archived.access, month, OPERATOR, kill)).rejects.toThrow('killed');
  expect(await server.keys()).not.toEqual(keysOf(await filesInUse()));
  await archived.archiveAll(MARCH);
  expect((await server.keys()).toSorted()).toEqual(keysOf(await filesInUse()));
});

const hasMoto = spawnSync('moto_server', ['--help']).status === 0;

it.skipIf(!hasMoto)(
  'a bucket with versions keeps none, unless they are locked (needs moto_server)',
  async () => {
    const port = await freePort();
    const moto = startServerProcess('moto_server', ['-H', '127.0.0.1', '-p', String(port)]);
    onTestFinished(() => moto.end());
    const options = { endpoint: `http://127.0.0.1:${port}`, bucket: 'locked-archive' };
    const directory = await newDirectory();
    const files = filesIn(directory, options);
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = server.options;
    const credentials = { accessKeyId, secretAccessKey };
    const client = new S3Client({
      region: 'us-east-1',
      endpoint: options.endpoint,
      forcePathStyle: true,
      credentials,
    });
    onTestFinished(() => client.destroy());
    const bucket = { Bucket: options.bucket };
    await waitFor(
      () =>
        client
          .send(new CreateBucketCommand({ ...bucket, ObjectLockEnabledForBucket: true }))
          .catch(() => undefined),
      30_000,
    );
    const versions = async () => (await client.send(new ListObjectVersionsCommand(bucket))).Versions ?? [];
    const content = 'PAR1 '.repeat(100);
    const file = {
      path: 'audit_events/2026-01/a.parquet',
      bytes: content.length,
      sha256: hash('sha256', content),
    };
    for (const _ of [1, 2]) {
      await writeFile(path.join(directory, 'draft'), content);
      await files.keep(file, path.join(directory, 'draft'));
    }
    const [locked] = await versions();
    const object = { ...bucket, Key: locked?.Key, VersionId: locked?.VersionId };
    const Retention = { Mode: 'COMPLIANCE', RetainUntilDate: new Date(Date.now() + 3_600_000) } as const;
    await client.send(new PutObjectRetentionCommand({ ...object, Retention }));
    await expect(files.remove(file.path)).rejects.toThrow(
      `refused to delete version ${locked?.VersionId} (AccessDenied`,
    );
    expect((await versions()).map(({ VersionId: id }) => id)).toEqual([locked?.VersionId]);
  },
);

const why = await whyNoMount();

it.skipIf(why !== undefined)('a disk that fills is named with its settings (needs mount)', async () => {
  const directory = await newDirectory();
  const unmount = await mountSmallDisk(directory, 16 * 1024);
  try {
    const full = new RegExp(
      `^The disk of ARCHIVE_DIR ${directory} is full\\..*ARCHIVE_DIR.*ARCHIVE_CACHE_MAX_BYTES`,
    );
    const files = filesIn(directory);
    await expect(files.use(await filesInUse())).rejects.toThrow(full);
    await restoreFiles(
      archived.access,
      (await filesInUse()).filter(({ table }) => table === 'audit_events'),
    );
    const month = await firstMonth();
    await expect(archiveMonth({ ...archived.access, files }, month, OPERATOR)).rejects.toThrow(full);
    await archived.archiveAll(MARCH);
  } finally {
    await unmount();
  }
});

/** The settings of a command. */
function settings(more: Record<string, string> = {}): Record<string, string> {
  const { bucket, endpoint, access_key_id: id, secret_access_key: secret } = server.options;
  return {
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: archived.log.directory,
    ARCHIVE_S3: `s3://${bucket}/xiq`,
    ARCHIVE_S3_ENDPOINT: endpoint,
    ARCHIVE_S3_KEY_ID: id,
    ARCHIVE_S3_SECRET: secret,
    ...more,
  };
}

it('erase says which objects still have events of the person, and the service deletes them later', async () => {
  const proxy = http.createServer((request, response) => {
    if (request.method === 'DELETE') {
      response.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>No right</Message></Error>');
      return;
    }
    const { method, url, headers } = request;
    const forwarded = http.request(`${server.endpoint}${url}`, { method, headers }, (answer) =>
      answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers)),
    );
    request.pipe(forwarded);
  });
  const endpoint = `http://127.0.0.1:${await listen(proxy)}`;
  onTestFinished(() => void proxy.close());
  const before = await server.keys();
  const words = ['--user', 'ann', '--all-sources', '--reason', 'request 17', '--yes'];
  const erased = await endOfCommand(settings({ ARCHIVE_S3_ENDPOINT: endpoint }), 'erase', ...words);
  expect(erased).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^erased: erasure \d+, [1-9]\d* events$/m) as unknown,
    stderr: expect.stringMatching(
      /an archive file still contains some of them: audit_events\/.*parquet: the bucket refused to delete version null \(AccessDenied: No right\)/,
    ) as unknown,
  });
  expect(await server.keys()).toEqual(before);
  expect(await deleteRemoved(archived.access)).toEqual([]);
  expect((await server.keys()).toSorted()).toEqual(keysOf(await filesInUse()));
  await archived.archiveAll(MARCH);
  expect((await verify()).findings.filter(({ state }) => state !== 'ERASED')).toEqual([]);
});

it('doctor reaches the bucket, and compares what it has', async () => {
  const doctor = async (more: Record<string, string> = {}) =>
    (await endOfCommand(settings(more), 'doctor')).stdout;
  const [file] = await filesInUse();
  const key = `${PREFIX}${file?.path}`;
  expect(await doctor()).toMatch(/ok +archive +.* all present with the right size/);
  const content = await server.read(key);
  await server.remove(key);
  expect(await doctor()).toMatch(
    new RegExp(`fail +archive +1 file of \\d+ missing or damaged in s3://network-events/xiq/`),
  );
  await server.put(key, content);
  expect(await doctor({ ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${await freePort()}` })).toMatch(
    /fail +archive +Can't reach/,
  );
});
