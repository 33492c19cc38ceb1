/**
 * @typedef {{ bucket: string, message_type: string, events: number }} ArrivalItem
 * @typedef {{ since: string, until: string, bucket_seconds: number, items: ArrivalItem[] }} Arrivals
 */

/**
 * Stacks the counts of each type by time: each line is the sum of its own type and of all visible types below. Times are
 * epoch seconds; empty buckets are 0.
 *
 * @param {Arrivals} arrivals
 * @param {readonly string[]} types from the bottom up
 * @param {ReadonlySet<string>} hidden
 * @returns {{ times: number[], values: number[][], sums: number[][] }} values and sums by type
 */
export function stack({ since, until, bucket_seconds: width, items }, types, hidden) {
  const start = Date.parse(since) / 1000;
  const count = Math.round((Date.parse(until) / 1000 - start) / width);
  const times = Array.from({ length: count }, (_, index) => start + index * width);
  const values = types.map(() => times.map(() => 0));
  for (const { bucket, message_type: type, events } of items) {
    const line = values[types.indexOf(type)];
    const index = Math.round((Date.parse(bucket) / 1000 - start) / width);
    if (line !== undefined && index >= 0 && index < count) line[index] = events;
  }
  const below = times.map(() => 0);
  const sums = values.map((line, type) =>
    line.map((value, index) => {
      if (!hidden.has(types[type] ?? '')) below[index] = (below[index] ?? 0) + value;
      return below[index] ?? 0;
    }),
  );
  return { times, values, sums };
}
