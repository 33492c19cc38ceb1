import { hash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { StoredFile } from '../../../src/archive/files/archive-files.ts';
import { openObjects } from '../../../src/archive/files/objects.ts';
import { s3Options } from '../../../src/forward/senders/s3/s3-options.ts';
import { startS3 } from '../../forward/senders/s3-server.ts';
import { standIn, type Reply } from '../../support/stand-in.ts';
import { newDirectory } from '../../support/use-directory.ts';

let server: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  server = await startS3();
});
afterAll(() => server[Symbol.asyncDispose]());

const objectsIn = (options: object = {}) =>
  openObjects(s3Options.parse({ ...server.options, prefix: 'xiq/', ...options }));

const CONTENT = 'PAR1 '.repeat(100);
const FILE: StoredFile = {
  path: 'audit_events/2026-01/a.parquet',
  bytes: CONTENT.length,
  sha256: hash('sha256', CONTENT),
};
const KEY = `xiq/${FILE.path}`;

const newFile = async () => path.join(await newDirectory(), 'file');

async function upload(objects = objectsIn()): Promise<void> {
  const written = await newFile();
  await writeFile(written, CONTENT);
  await objects.upload(FILE, written);
}

it('an object comes back as it was uploaded, with its size and hash, until it is removed', async () => {
  const objects = objectsIn();
  await upload();
  await server.put('other/file.parquet', Buffer.from('x'));
  expect(await objects.sizes()).toEqual(new Map([[FILE.path, FILE.bytes]]));
  expect(await objects.digest(FILE)).toBe(FILE.sha256);
  const target = await newFile();
  await objects.download(FILE, target);
  expect(await readFile(target, 'utf8')).toBe(CONTENT);
  expect((await stat(target)).mode & 0o777).toBe(0o600);
  await objects.remove(FILE.path);
  expect(await server.keys()).toEqual(['other/file.parquet']);
  await expect(objects.digest(FILE)).rejects.toThrow(`s3://network-events/${KEY} is gone`);
});

it.each([
  ['has a different SHA-256 than when it was written', CONTENT.toLowerCase()],
  ['has 499 bytes, but was written with 500', CONTENT.slice(1)],
])('an object that %s is not taken', async (what, content) => {
  await server.put(KEY, Buffer.from(content));
  await expect(objectsIn().download(FILE, await newFile())).rejects.toThrow(`${KEY} ${what}`);
  expect(await objectsIn().digest(FILE)).toBe(hash('sha256', content));
});

it('a bucket that refuses, and one that cannot be reached, are told apart', async () => {
  await expect(objectsIn({ bucket: 'no-bucket' }).sizes()).rejects.toThrow(
    /^The archive's s3 bucket no-bucket at .* refused the request \(NoSuchBucket.*Check ARCHIVE_S3, its key/,
  );
  await expect(objectsIn({ endpoint: 'http://127.0.0.1:1' }).sizes()).rejects.toThrow(
    /^Can't reach the archive's s3 bucket .*ECONNREFUSED.*Check ARCHIVE_S3 and/,
  );
});

it.each<[string, Reply]>([
  ['does not answer', 'silent'],
  ['stops within an object', { headers: { 'content-length': '9999' }, raw: 'PAR1' }],
])('a bucket that %s is called slow', async (_, reply) => {
  await using slow = await standIn(() => reply);
  const objects = objectsIn({ endpoint: slow.url, timeout_seconds: 0.5 });
  await expect(objects.download(FILE, await newFile())).rejects.toThrow(
    /^The archive's s3 bucket network-events at .* is too slow \(no answer within 0.5 seconds, or less than 0.5 MB\/s\)/,
  );
});

it.each([
  ['a different SHA-256', { 'x-amz-checksum-sha256': 'x', 'content-length': String(FILE.bytes) }],
  ['another size', { 'content-length': '5' }],
])('an upload after which the bucket has %s fails', async (_, headers) => {
  await using wrong = await standIn(({ method }) => (method === 'HEAD' ? { headers } : {}));
  await expect(upload(objectsIn({ endpoint: wrong.url }))).rejects.toThrow(
    `s3://network-events/${KEY} was not stored as uploaded`,
  );
});

it('all versions of an object are deleted, and what a key may not delete is named with its version', async () => {
  const versions = ['v1', 'v2'].map(
    (id) => `<Version><Key>${KEY}</Key><VersionId>${id}</VersionId></Version>`,
  );
  const others = `<Version><Key>${KEY}.other</Key><VersionId>v4</VersionId></Version>
    <DeleteMarker><Key>${KEY}</Key><VersionId>v3</VersionId></DeleteMarker>`;
  const deleted: (string | null)[] = [];
  await using locked = await standIn(({ method, url }) => {
    if (method === 'GET')
      return { raw: `<ListVersionsResult>${versions.join('')}${others}</ListVersionsResult>` };
    const version = new URL(url, server.endpoint).searchParams.get('versionId');
    deleted.push(version);
    return version === 'v2'
      ? { status: 403, raw: '<Error><Code>AccessDenied</Code><Message>Object is locked</Message></Error>' }
      : { status: 204 };
  });
  await expect(objectsIn({ endpoint: locked.url }).remove(FILE.path)).rejects.toThrow(
    'the bucket refused to delete version v2 (AccessDenied: Object is locked)',
  );
  expect(deleted).toEqual(['v1', 'v2', 'v3']);
});

it('credentials are not waited for longer than an answer of the bucket', async () => {
  await using silent = await standIn(() => 'silent');
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${silent.url}/credentials`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const objects = openObjects(
    s3Options.parse({ bucket: 'events', region: 'eu-west-1', timeout_seconds: 0.1 }),
  );
  await expect(objects.sizes()).rejects.toThrow('is too slow');
});
