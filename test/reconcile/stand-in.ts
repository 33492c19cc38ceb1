import type { LogRecord } from '../../src/cloud/contract/logs.ts';
import type { Logs } from '../../src/cloud/logs.ts';

/** A log of the cloud that tests write. */
export interface WrittenLog extends Logs {
  records: LogRecord[];
  /** The whole descriptions by id. */
  readonly descriptions: Map<string, string>;
  /** The queries so far. */
  readonly queries: { readonly from: number; readonly to: number }[];
}

/** A log with these records, whatever kind is asked for. */
export function writtenLog(records: LogRecord[] = []): WrittenLog {
  const queries: { from: number; to: number }[] = [];
  const log: WrittenLog = {
    records,
    descriptions: new Map(),
    queries,
    fullDescription: async (id) => log.descriptions.get(id),
    async *read({ from, to }) {
      queries.push({ from, to });
      yield* log.records.filter(({ timestamp }) => timeOf(timestamp) >= from && timeOf(timestamp) <= to);
    },
  };
  return log;
}

const timeOf = (timestamp: LogRecord['timestamp']) => new Date(timestamp ?? Number.NaN).getTime();
