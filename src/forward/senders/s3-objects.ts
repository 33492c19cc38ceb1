import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Message } from '../sender.ts';
import { toParquet } from './s3-parquet.ts';
import type { Bucket } from './s3-bucket.ts';

/** The content of an object: lines of JSON, compressed, or a Parquet file with the line as one of its columns. */
export const ENCODINGS = ['ndjson.gz', 'parquet'] as const;

/** An object of the bucket, before it is stored. */
export interface ObjectFile {
  readonly key: string;
  readonly body: Buffer;
  readonly contentType: string;
  readonly sha256: string;
  readonly events: number;
  /** Positions in the log; undefined for an event that is sent by itself. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}

interface ObjectOptions {
  readonly prefix: string;
  readonly encoding: (typeof ENCODINGS)[number];
}

const compress = promisify(gzip);

const CONTENT_TYPES = { 'ndjson.gz': 'application/gzip', parquet: 'application/vnd.apache.parquet' } as const;

/** Divides a batch into objects by source, message type and hour (UTC), each in the order of the batch. */
export async function* toObjects(
  batch: readonly Message[],
  { prefix, encoding }: ObjectOptions,
): AsyncGenerator<ObjectFile> {
  for (const [folder, messages] of Map.groupBy(batch, folderOf)) {
    const body = encoding === 'parquet' ? await toParquet(messages) : await toLines(messages);
    const sha256 = hash('sha256', body);
    const first = messages[0]?.event.position;
    const last = messages.at(-1)?.event.position;
    yield {
      key: `${prefix}${folder}${rangeOf(first, last)}${sha256.slice(0, 16)}.${encoding}`,
      body,
      contentType: CONTENT_TYPES[encoding],
      sha256,
      events: messages.length,
      first,
      last,
    };
    await setImmediate();
  }
}

const toLines = (messages: readonly Message[]) =>
  compress(messages.map(({ text }) => `${text}\n`).join(''), { level: 6 });

/** In the form of Hive, which Athena, Spark and DuckDB read as columns. */
function folderOf({ event }: Message): string {
  if (event.position === undefined) return 'single/';
  const [date = '', time = ''] = event.occurredAt.split('T');
  const source = encodeURIComponent(event.source);
  return `source=${source}/type=${event.messageType}/date=${date}/hour=${time.slice(0, 2)}/`;
}

/** So many digits that names sort by position. */
const DIGITS = 13;

/** The beginning of a name; names sort in the order of the log. */
const rangeOf = (first: number | undefined, last: number | undefined): string =>
  first === undefined || last === undefined
    ? ''
    : `${String(first).padStart(DIGITS, '0')}-${String(last).padStart(DIGITS, '0')}-`;

/** A manifest as the next one names it. */
export interface ManifestLink {
  readonly key: string;
  readonly sha256: string;
}

/** The manifest of a batch: its objects, and the manifest before. */
export function manifestOf(
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
export async function readLatestManifest(bucket: Bucket, prefix: string): Promise<ManifestLink | undefined> {
  for (let day = 0; day <= DAYS_BACK; day += 1) {
    const key = await bucket.lastKey(manifestFolder(prefix, new Date(Date.now() - day * 86_400_000)));
    if (key !== undefined) return { key, sha256: hash('sha256', await bucket.read(key)) };
  }
  return undefined;
}
