import type { HistoryRange } from '../store/reconcile/history.ts';
import type { LoggedType } from './log-kinds.ts';

/**
 * The log of a message type in a range of time, its end exclusive. It should begin with a quarter; the last one is compared up
 * to its end.
 */
export interface HistoryQuery extends HistoryRange {
  readonly messageType: LoggedType;
}

/** Whether the range has this moment (epoch milliseconds). */
export const isWithin = ({ from, to }: HistoryQuery, at: number) => at >= from.getTime() && at < to.getTime();
