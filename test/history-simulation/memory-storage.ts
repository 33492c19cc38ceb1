import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { judgeRange } from '../../src/reconcile/coverage.ts';
import { historyOf } from '../../src/reconcile/log-kinds.ts';
import type { ComparedQuarter } from '../../src/store/reconcile/coverage.ts';
import type { HistoryRow } from '../../src/store/reconcile/history.ts';
import type { Tables } from '../../src/store/server/schema/tables.ts';
import { beginRows } from './memory-history.ts';
import { type Storage, quarterOf } from './simulate.ts';

/** A database that nothing reaches. */
const NOWHERE = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Storage in memory: an event is its content and its ordinal among identical records of its delivery. */
export function createMemoryStorage(): Storage {
  const rows = beginRows();
  const clusters = new Map<string, string>();
  const coverage = new Map<string, ComparedQuarter>();

  function store(messageType: string, row: HistoryRow): void {
    if (clusters.has(row.eventId)) return;
    clusters.set(row.eventId, String(row.payload['username'] ?? row.payload['userName']));
    const ofType = rows.events.get(messageType) ?? [];
    ofType.push(row);
    rows.events.set(messageType, ofType);
  }

  return {
    db: NOWHERE,
    async deliver(_source, { messageType, records }) {
      const seen = new Map<string, number>();
      for (const payload of records) {
        const content = JSON.stringify(payload);
        const ordinal = seen.get(content) ?? 0;
        seen.set(content, ordinal + 1);
        store(messageType, {
          eventId: `${messageType} ${ordinal} ${content}`,
          occurredAt: new Date(Number(payload['timeStamp'])),
          origin: 'webhook',
          recordId: null,
          isLinked: false,
          payload,
        });
      }
    },
    async storeMissing(_source, messageType, records) {
      for (const record of records) {
        // It is quarantined.
        if (typeof record.timestamp !== 'number' && typeof record.timestamp !== 'string') continue;
        store(messageType, {
          eventId: `${messageType} ${JSON.stringify(record)}`,
          occurredAt: new Date(record.timestamp),
          origin: 'backfill',
          recordId: String(record.id),
          isLinked: false,
          payload: record,
        });
      }
    },
    onCompared(_source, messageType, found, range) {
      const { reachMs } = historyOf(messageType);
      const before = found.flatMap(({ quarter }) => {
        const known = coverage.get(quarterOf({ messageType, at: quarter.getTime() }));
        return known === undefined ? [] : [known];
      });
      for (const judged of judgeRange(before, found, range, reachMs)) {
        coverage.set(quarterOf({ messageType, at: judged.quarter.getTime() }), judged);
      }
    },
    async countEvents() {
      const counts = new Map<string, number>();
      for (const [eventId, cluster] of clusters) {
        if (!rows.superseded.has(eventId)) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
      }
      return counts;
    },
    readStates: async () => new Map([...coverage].map(([quarter, { state }]) => [quarter, state])),
    readStatuses: async () =>
      new Map([...rows.links].flatMap(([logId, { status }]) => (status === null ? [] : [[logId, status]]))),
  };
}
