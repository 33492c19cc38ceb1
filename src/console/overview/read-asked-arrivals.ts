import { chooseBuckets } from './arrival-ranges.ts';
import type { AskedRange } from './arrival-ranges.ts';
import type { ArrivalsReader } from './arrivals-reader.ts';
import type { Arrivals } from './overview-schemas.ts';

/** Reads what arrived in a stretch of time, as the API tells it. Throws HttpError for a stretch that cannot be. */
export async function readAskedArrivals(read: ArrivalsReader, asked: AskedRange): Promise<Arrivals> {
  const range = chooseBuckets(asked, Date.now());
  const arrivals = await read(range);
  return {
    since: range.since.toISOString(),
    until: range.until.toISOString(),
    bucket_seconds: range.bucketSeconds,
    items: arrivals.map(({ bucket, messageType, ...counts }) => ({
      bucket: bucket.toISOString(),
      message_type: messageType,
      ...counts,
    })),
  };
}
