import type { ReadableFile } from '../store/archive/archived-files.ts';
import type { Within } from './translate-condition.ts';

/** A window is so many times as long as what the statement reads, if it has not more rows than these. */
const AHEAD = [64, 32, 16, 8, 4, 2, 1];
const ROWS_AHEAD = 200_000;
const SHORTEST_MS = 1_000;

export interface TimeWindow {
  readonly since: Date;
  readonly until: Date;
}

/** The longest window that a statement of this time can get. */
export const longestWindow = (asked: TimeWindow): TimeWindow => windowsFor(asked)[0] ?? asked;

/**
 * The window to load for a statement of this time, and for those that go on after it. `files` are those of the longest window.
 * The time itself if even that has too many rows.
 */
export const windowFor = (asked: TimeWindow, files: readonly ReadableFile[]): TimeWindow =>
  windowsFor(asked).find((one) => estimateRows(files, one) <= ROWS_AHEAD) ?? asked;

/** The longest first. */
function windowsFor({ since, until }: TimeWindow): readonly TimeWindow[] {
  const length = Math.max(until.getTime() - since.getTime(), SHORTEST_MS);
  return AHEAD.map((factor) => ({ since, until: new Date(since.getTime() + factor * length) }));
}

/** As if the rows of each file were spread evenly over its time. */
function estimateRows(files: readonly ReadableFile[], { since, until }: TimeWindow): number {
  return files.reduce((sum, { rows, firstAt, lastAt }) => {
    const length = Math.max(lastAt.getTime() - firstAt.getTime(), 1);
    const shared = Math.min(until.getTime(), lastAt.getTime()) - Math.max(since.getTime(), firstAt.getTime());
    return sum + (rows * Math.max(0, shared)) / length;
  }, 0);
}

/** Whether a file can have rows of a time. */
export const overlaps = ({ firstAt, lastAt }: ReadableFile, { since, until }: Within) =>
  (since === undefined || lastAt >= since) && (until === undefined || firstAt <= until);
