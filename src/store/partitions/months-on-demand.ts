import type { MessageType } from '../../events/domain.ts';
import { tableOf } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { createMonths } from './open-month.ts';
import {
  FIRST_MONTH,
  isCovered,
  listPartitions,
  monthOf,
  monthsAround,
  PARTITIONED,
} from './partitioned-tables.ts';

/** Events need months that may not exist. Nothing was stored: create them, on another connection, and store again. */
export class MonthsMissingError extends Error {
  override readonly name = 'MonthsMissingError';
  readonly create: (db: Db) => Promise<void>;

  constructor(months: MonthsOnDemand, partitions: ReadonlySet<string>) {
    super(`these may be missing: ${[...partitions].join(', ')}`);
    this.create = (db) => months.create(db, partitions);
  }
}

/** A table gets at most this many at once, because the events of all sources wait for them. Maintenance creates the others. */
const MOST_MONTHS = 12;

/**
 * Creates months of the past that events need before they are stored, as those of an import do, from 2015 on. Later ones are
 * created by maintenance.
 */
export class MonthsOnDemand {
  readonly #first = FIRST_MONTH.toISOString();
  readonly #end = monthsAround(new Date())[0]?.toISOString() ?? '';
  /** Partitions that exist, were in use by others, or too many: what comes to the default partition meanwhile moves later. */
  readonly #known = new Set<string>();

  /** Adds the partition that an event needs, and that may not exist. The time is printed as by `toISOString`. */
  note(needed: Set<string>, event: { readonly messageType: MessageType; readonly occurredAt: string }): void {
    const { messageType, occurredAt } = event;
    if (occurredAt >= this.#end || occurredAt < this.#first) return;
    const partition = `${tableOf(messageType)}_${occurredAt.slice(0, 7).replace('-', '_')}`;
    if (!this.#known.has(partition)) needed.add(partition);
  }

  /** Creates those that do not exist, on up to two connections of the pool at a time. */
  async create(db: Db, needed: ReadonlySet<string>): Promise<void> {
    for (const table of PARTITIONED) {
      const names = [...needed].filter((name) => name.slice(0, -'_YYYY_MM'.length) === table.name);
      if (names.length === 0) continue;
      const existing = await listPartitions(db, table);
      const months = names.map(monthOf).filter((month) => !isCovered(table, month, existing));
      await createMonths(db, table, months.slice(0, MOST_MONTHS), { created: [], blocked: [] });
      for (const name of names) this.#known.add(name);
    }
  }
}
