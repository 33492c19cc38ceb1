import { hash } from 'node:crypto';
import type { Bucket } from './s3-bucket.ts';
import { rangeOf, type ObjectFile } from './s3-objects.ts';

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
  const key = `${folderOf(prefix, now)}${rangeOf(first, last)}${sha256.slice(0, 16)}.json`;
  const body = Buffer.from(text);
  const file = { key, body, contentType: 'application/json', sha256, events, first, last };
  return { file, link: { key, sha256 } };
}

const folderOf = (prefix: string, day: Date) => `${prefix}manifests/date=${day.toISOString().slice(0, 10)}/`;

/** A destination without a manifest for so long begins a new chain. */
const DAYS_BACK = 31;

/** The last manifest in the bucket, by date and position; undefined if the last month has none. */
export async function readLatestManifest(bucket: Bucket, prefix: string): Promise<ManifestLink | undefined> {
  for (let day = 0; day <= DAYS_BACK; day += 1) {
    const key = await bucket.lastKey(folderOf(prefix, new Date(Date.now() - day * 86_400_000)));
    if (key !== undefined) return { key, sha256: hash('sha256', await bucket.read(key)) };
  }
  return undefined;
}
