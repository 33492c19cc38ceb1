import { hash } from 'node:crypto';
import { reportCsv } from '../../../store/reports/reports.ts';
import type { Message, Sender } from '../../sender.ts';
import type { Bucket } from './bucket.ts';
import type { S3Options } from './s3-options.ts';
import { toObjects, rangeOf, type ObjectFile } from './objects.ts';
import { toError } from '../../../lib/errors.ts';

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
  const open = () => (opened ??= import('./bucket.ts').then(({ openBucket }) => openBucket(options)));

  async function store(bucket: Bucket, batch: readonly Message[]): Promise<void> {
    const files: ObjectFile[] = [];
    for await (const file of toObjects(batch, options)) {
      await bucket.put(file);
      files.push(file);
    }
    // An event that is sent by itself, a test or a rejected one, is of no slice of the log.
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
        throw bucket.failureOf(toError(error));
      }
      return [];
    },
    async sendReport(report) {
      const body = Buffer.from(reportCsv(report.rows));
      const key = `${options.prefix}reports/${report.schedule}/${report.id}.csv`;
      const object = { key, body, contentType: 'text/csv; charset=utf-8', sha256: hash('sha256', body) };
      const bucket = await open();
      await bucket.put(object).catch((error: unknown) => {
        throw bucket.failureOf(toError(error));
      });
    },
    async close() {
      await opened?.then((bucket) => bucket.close()).catch(() => undefined);
    },
  };
}

interface ManifestLink {
  readonly key: string;
  readonly sha256: string;
}

function manifestOf(
  prefix: string,
  files: readonly ObjectFile[],
  previous: ManifestLink | undefined,
  now: Date,
): { readonly file: ObjectFile; readonly link: ManifestLink } {
  const first = Math.min(...files.map((one) => one.first ?? Infinity));
  const last = Math.max(...files.map((one) => one.last ?? 0));
  const events = files.reduce((sum, one) => sum + one.events, 0);
  const objects = files.map((one) => ({
    key: one.key,
    bytes: one.body.length,
    sha256: one.sha256,
    events: one.events,
    first_position: one.first,
    last_position: one.last,
  }));
  const text = JSON.stringify(
    { first_position: first, last_position: last, events, objects, previous: previous ?? null },
    undefined,
    1,
  );
  const sha256 = hash('sha256', text);
  const key = `${manifestFolder(prefix, now)}${rangeOf(first, last)}${sha256.slice(0, 16)}.json`;
  const body = Buffer.from(text);
  const file = { key, body, contentType: 'application/json', sha256, events, first, last };
  return { file, link: { key, sha256 } };
}

const manifestFolder = (prefix: string, day: Date) =>
  `${prefix}manifests/date=${day.toISOString().slice(0, 10)}/`;

/** A destination without a manifest for so long begins a new chain. */
const DAYS_BACK = 31;

/** The last manifest in the bucket, by date and position; undefined if the last month has none. */
async function readLatestManifest(bucket: Bucket, prefix: string): Promise<ManifestLink | undefined> {
  for (let day = 0; day <= DAYS_BACK; day += 1) {
    const key = await bucket.lastKey(manifestFolder(prefix, new Date(Date.now() - day * 86_400_000)));
    if (key !== undefined) return { key, sha256: hash('sha256', await bucket.read(key)) };
  }
  return undefined;
}
