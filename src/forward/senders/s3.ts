import { hash } from 'node:crypto';
import { z } from 'zod';
import { baseUrl } from '../../config/setting-types.ts';
import { OutageError } from '../../errors.ts';
import { reportCsv } from '../../store/reports.ts';
import type { Message, Sender } from '../sender.ts';
import type { Bucket } from './s3-bucket.ts';
import { ENCODINGS, toObjects, type ObjectFile } from './s3-objects.ts';
import { manifestOf, readLatestManifest, type ManifestLink } from './s3-objects.ts';
import { timeoutOption, tlsOptions } from './connection-options.ts';

/** A bucket of Amazon S3, or of a server that speaks its protocol. */
export const s3Options = z
  .strictObject({
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket, such as network-events'),
    region: z.string().min(1, 'must be a region such as eu-central-1').default('us-east-1'),
    /** Of a server other than Amazon's. */
    endpoint: baseUrl.optional(),
    /** The bucket is in the path of the address instead of the host name: most other servers need it. */
    path_style: z.boolean('must be true or false').optional(),
    /** Begins the name of every object. */
    prefix: z
      .string()
      .regex(
        /^(?:[\w.!*'()=-]+\/)*$/,
        'must consist of names, each with a final "/", such as network/events/',
      )
      .default(''),
    encoding: z.enum(ENCODINGS, `must be one of ${ENCODINGS.join(', ')}`).default('ndjson.gz'),
    /** Without them, those of the environment, of the profile or of the machine's role. */
    access_key_id: z.string().min(1, 'must be the id of an access key').optional(),
    secret_access_key: z.string().min(1, 'must be the secret of an access key').optional(),
    session_token: z.string().min(1, 'must be a session token').optional(),
    tls: tlsOptions.optional(),
    timeout_seconds: timeoutOption(300, 30),
  })
  .refine(
    ({ access_key_id: id, secret_access_key: secret }) => (id === undefined) === (secret === undefined),
    'access_key_id and secret_access_key must be set together',
  );

export type S3Options = z.output<typeof s3Options>;

export const S3_FORMATS = ['json', 'ecs', 'ocsf'] as const;

/** Few large objects are cheaper to store and to read than many small ones, so a batch waits for a minute. */
export const S3_LIMITS = { events: 5_000, bytes: 10_000_000, seconds: 60 };

/**
 * Stores each batch as objects by source, message type and hour, then a manifest that lists them with their SHA-256 and
 * names the manifest before. The name of an object contains a digest of its content, so nothing is ever overwritten by
 * something else, and a batch that is resent unchanged has the same objects.
 */
export function createS3Sender(options: S3Options): Sender {
  let opened: Promise<Bucket> | undefined;
  let latest: ManifestLink | undefined;
  // The SDK takes 150 ms to load, which only those who use it should wait for.
  const open = () => (opened ??= import('./s3-bucket.ts').then(({ openBucket }) => openBucket(options)));

  async function store(bucket: Bucket, batch: readonly Message[]): Promise<void> {
    const files: ObjectFile[] = [];
    for await (const file of toObjects(batch, options)) {
      await bucket.put(file);
      files.push(file);
    }
    // An event that is sent by itself, a test or a rejected one, is of no stretch of the log.
    if (batch.some(({ event }) => event.position === undefined)) return;
    latest ??= await readLatestManifest(bucket, options.prefix);
    const { file, link } = manifestOf(options.prefix, files, latest, new Date());
    await bucket.put(file);
    latest = link;
  }

  return {
    async send(batch) {
      if (batch.length === 0) return [];
      const bucket = await open();
      try {
        await store(bucket, batch);
      } catch (error) {
        // Another process may have continued meanwhile.
        latest = undefined;
        throw error instanceof Error ? bucket.failureOf(error) : new OutageError(String(error));
      }
      return [];
    },
    async sendReport(report) {
      const body = Buffer.from(reportCsv(report.rows));
      const key = `${options.prefix}reports/${report.schedule}/${report.id}.csv`;
      const object = { key, body, contentType: 'text/csv; charset=utf-8', sha256: hash('sha256', body) };
      const bucket = await open();
      await bucket.put(object).catch((error: unknown) => {
        throw error instanceof Error ? bucket.failureOf(error) : new OutageError(String(error));
      });
    },
    async close() {
      await opened?.then((bucket) => bucket.close()).catch(() => undefined);
    },
  };
}
