import type { WholeRange } from '../lib/text/parse-time.ts';
import type { ReadableFile, Within } from '../store/archive/archived-files.ts';

/** A window is so many times as long as what the statement reads, if it has not more rows than these. */
const AHEAD = [64, 32, 16, 8, 4, 2, 1];
const ROWS_AHEAD = 200_000;
const SHORTEST_MS = 1_000;

/** The longest window that a statement of this time can get. */
export const longestWindow = (asked: WholeRange): WholeRange => windowsFor(asked)[0] ?? asked;

/**
 * The window to load for a statement of this time, and for those that go on after it. `files` are those of the longest window.
 * The time itself if even that has too many rows.
 */
export const windowFor = (asked: WholeRange, files: readonly ReadableFile[]): WholeRange =>
  windowsFor(asked).find((one) => estimateRows(files, one) <= ROWS_AHEAD) ?? asked;

/** The longest first. */
function windowsFor({ since, until }: WholeRange): readonly WholeRange[] {
  const length = Math.max(until.getTime() - since.getTime(), SHORTEST_MS);
  return AHEAD.map((factor) => ({ since, until: new Date(since.getTime() + factor * length) }));
}

/** As if the rows of each file were spread evenly over its time. */
function estimateRows(files: readonly ReadableFile[], { since, until }: WholeRange): number {
  return files.reduce((sum, { rows, firstAt, lastAt }) => {
    const length = Math.max(lastAt.getTime() - firstAt.getTime(), 1);
    const shared = Math.min(until.getTime(), lastAt.getTime()) - Math.max(since.getTime(), firstAt.getTime());
    return sum + (rows * Math.max(0, shared)) / length;
  }, 0);
}

/** Whether a file can have rows of a time. */
export const overlaps = ({ firstAt, lastAt }: ReadableFile, { since, until }: Within) =>
  (since === undefined || lastAt >= since) && (until === undefined || firstAt <= until);
