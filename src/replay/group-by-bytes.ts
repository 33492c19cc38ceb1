import type { Quarantined } from '../store/search-quarantine.ts';

/** Bytes replayed in one transaction; something larger goes alone. More gains nothing (see `createBatchStore`). */
const BATCH_BYTES = 1024 * 1024;

/** Ids of what is replayed together: as much as may take no more than 1 MiB of memory once it is inflated. */
export function* groupByBytes(page: readonly Quarantined[], maxBodyBytes: number): Generator<string[]> {
  let group: string[] = [];
  let size = 0;
  for (const { quarantine_id, bytes, encoding } of page) {
    const inflated = encoding === null ? bytes : maxBodyBytes;
    if (group.length > 0 && size + inflated > BATCH_BYTES) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(quarantine_id);
    size += inflated;
  }
  if (group.length > 0) yield group;
}
