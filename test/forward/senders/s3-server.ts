import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { z } from 'zod';
import { freePort } from '../../support/free-port.ts';
import { startServerProcess, type ServerProcess } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Starts the server with the options that its first argument has as JSON: the package has no program. */
const SERVER = `const S3 = require('@20minutes/s3rver'); new S3(JSON.parse(process.argv[1])).run()`;

const BUCKET = 'network-events';

/** The key pair that s3rver knows. */
const KEYS = { access_key_id: 'S3RVER', secret_access_key: 'S3RVER' };

const Manifest = z.object({
  first_position: z.number(),
  last_position: z.number(),
  events: z.number(),
  objects: z.array(z.object({ key: z.string(), sha256: z.string(), bytes: z.number(), events: z.number() })),
  previous: z.object({ key: z.string(), sha256: z.string() }).nullable(),
});

export type Manifest = z.output<typeof Manifest>;

/** A server in npm that stands in for Amazon S3 and keeps its objects in files, with one bucket. */
export async function startS3() {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-s3-'));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const run = () => {
    // It signs other than the SDK where a name contains "=".
    const allowMismatchedSignatures = true;
    const options = {
      allowMismatchedSignatures,
      directory,
      port,
      address: '127.0.0.1',
      configureBuckets: [{ name: BUCKET }],
    };
    return startServerProcess(process.execPath, ['-e', SERVER, JSON.stringify(options)]);
  };
  const listens = () =>
    waitFor(
      () =>
        fetch(endpoint).then(
          () => true,
          () => false,
        ),
      30_000,
    );
  let server: ServerProcess = run();
  await listens();
  const client = new S3Client({
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: KEYS.access_key_id, secretAccessKey: KEYS.secret_access_key },
  });

  async function keys(prefix = ''): Promise<string[]> {
    const found: string[] = [];
    let next: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket: BUCKET, Prefix: prefix, ContinuationToken: next }),
      );
      found.push(...(page.Contents ?? []).flatMap(({ Key: key }) => key ?? []));
      next = page.NextContinuationToken;
    } while (next !== undefined);
    return found;
  }

  async function read(key: string): Promise<Buffer> {
    const { Body: body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
    return Buffer.from((await body?.transformToByteArray()) ?? []);
  }

  return {
    endpoint,
    options: { bucket: BUCKET, endpoint, ...KEYS },
    keys,
    read,
    put: (key: string, body: Buffer) =>
      client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: body })),
    remove: (key: string) => client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: key })),
    /** The manifests in their order. */
    async manifests(prefix = ''): Promise<(Manifest & { readonly key: string })[]> {
      const found = await keys(`${prefix}manifests/`);
      return Promise.all(
        found.map(async (key) => ({ key, ...Manifest.parse(JSON.parse((await read(key)).toString())) })),
      );
    },
    /** The lines of an object of the encoding ndjson.gz. */
    lines: async (key: string) =>
      gunzipSync(await read(key))
        .toString()
        .trimEnd()
        .split('\n'),
    kill: () => server.end('SIGKILL'),
    async restart() {
      server = run();
      await listens();
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await server.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
