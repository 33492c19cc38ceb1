import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { InventoryTable } from '../reconcile/inventory.ts';
import type { Db } from '../server/database.ts';
import { isSource } from '../server/scope.ts';
import { allRows, run } from '../server/statement.ts';

/** How sure it is that something names a person: `possible` if only a part of a longer word does. */
export type Naming = 'named' | 'possible';

export interface PersonSearch {
  /**
   * A regular expression of Postgres that finds, in any case, every JSON text that may name the person, and others. The
   * database cannot decide it: what it knows of letters depends on its locale (with `C`, none but those of ASCII).
   */
  readonly pattern: string;
  judgeJson(text: string): Naming | undefined;
  judgeBytes(content: Buffer): Naming | undefined;
}

export interface ErasableEvent {
  readonly eventId: string;
  /** As Postgres prints it, with every digit. */
  readonly occurredAt: string;
  readonly receivedAt: Date;
  readonly source: string;
  readonly table: string;
}

/** The columns of an ErasableEvent. */
export const erasableColumns = (family: Family): RawBuilder<unknown> => sql`
  event_id as "eventId", occurred_at::text as "occurredAt", received_at as "receivedAt", source,
  ${TABLE_OF[family]}::text as table`;

/** What else than events names a person. */
export interface OtherTraces {
  /** Ids of quarantined items. */
  readonly quarantine: readonly string[];
  /** Ids of entries of the operator log. */
  readonly operations: readonly string[];
  /** Ids of saved searches. */
  readonly searches: readonly string[];
  /** Ids of versions in the tables of the inventory. */
  readonly inventory: Readonly<Record<InventoryTable, readonly string[]>>;
}

export const NO_TRACES: OtherTraces = {
  quarantine: [],
  operations: [],
  searches: [],
  inventory: { devices: [], locations: [], organizations: [], people: [] },
};

/** What names a person, and what does perhaps, for somebody to look at: `event ID`, `saved search ID`. */
export interface Found<What> {
  readonly named: What;
  readonly possible: readonly string[];
}

/** Finds the stored events that name a person. Reads all events; few of them are in memory at a time. */
export async function findEventsOf(
  db: Db,
  search: PersonSearch,
  source: string | undefined,
): Promise<Found<readonly ErasableEvent[]>> {
  const named: ErasableEvent[] = [];
  const possible: string[] = [];
  for (const family of FAMILIES) {
    const candidates = sql<ErasableEvent & { json: string }>`
      select ${erasableColumns(family)}, payload::text as json from ${sql.table(TABLE_OF[family])}
      where payload::text ~* ${search.pattern} and ${isSource(source)} order by occurred_at`;
    for await (const { json, ...event } of eachRow(db, candidates)) {
      const naming = search.judgeJson(json);
      if (naming === 'named') named.push(event);
      if (naming === 'possible') possible.push(`event ${event.eventId}`);
    }
  }
  return { named, possible };
}

/** A row that may name a person. */
interface Candidate {
  readonly id: string;
  /** What of it is searched. */
  readonly json: string;
}

/** Numbers that are not a person's. */
const IDS = sql`array['id', 'device_id', 'location_id', 'parent_id', 'person_id']`;

/**
 * Finds entries of the operator log, saved searches, versions of the inventory and quarantined items that name a person. With a
 * source, only of those that have one.
 */
export async function findOtherTraces(
  db: Db,
  search: PersonSearch,
  source: string | undefined,
  decode: DecodeContent,
): Promise<Found<OtherTraces>> {
  const possible: string[] = [];
  const matching = async (kind: string, candidates: RawBuilder<Candidate>) => {
    const named: string[] = [];
    for await (const { id, json } of eachRow(db, candidates)) {
      const naming = search.judgeJson(json);
      if (naming === 'named') named.push(id);
      if (naming === 'possible') possible.push(`${kind} ${id}`);
    }
    return named;
  };
  const versions = (table: InventoryTable) =>
    matching(
      `version in ${table}`,
      sql`select id::text, (to_jsonb(version) - ${IDS})::text as json from ${sql.table(table)} as version
        where ${isSource(source)} order by version.id`,
    );
  const quarantined = await findQuarantined(db, search, source, decode);
  return {
    named: {
      quarantine: quarantined.named,
      operations: await matching(
        'operator log entry',
        sql`select id::text, jsonb_build_array(subject, details, result)::text as json from operator_log
        where ${source === undefined} order by operator_log.id`,
      ),
      searches: await matching(
        'saved search',
        sql`select id::text, jsonb_build_array(name, line)::text as json from saved_searches
        where ${source === undefined} order by saved_searches.id`,
      ),
      inventory: {
        devices: await versions('devices'),
        locations: await versions('locations'),
        organizations: await versions('organizations'),
        people: await versions('people'),
      },
    },
    possible: [...possible, ...quarantined.possible],
  };
}

/** Decodes content with its Content-Encoding. Undefined: it cannot be. */
export type DecodeContent = (content: Buffer, encoding: string | undefined) => Promise<Buffer | undefined>;

async function findQuarantined(
  db: Db,
  search: PersonSearch,
  source: string | undefined,
  decode: DecodeContent,
): Promise<Found<readonly string[]>> {
  const named: string[] = [];
  const possible: string[] = [];
  const items = sql<{ id: string; reason: string; content: Buffer; encoding: string | null }>`
    select quarantine_id::text as id, reason, content, encoding from quarantine
    where ${isSource(source)} order by received_at`;
  for await (const { id, reason, content, encoding } of eachRow(db, items, 1)) {
    const decoded = await decode(content, encoding ?? undefined);
    const ofReason = search.judgeBytes(Buffer.from(reason));
    const ofContent = decoded === undefined ? 'possible' : search.judgeBytes(decoded);
    if (ofReason === 'named' || ofContent === 'named') named.push(id);
    else if (ofReason !== undefined || ofContent !== undefined) {
      possible.push(`quarantined item ${id}${decoded === undefined ? ', which cannot be read' : ''}`);
    }
  }
  return { named, possible };
}

async function* eachRow<Row>(db: Db, query: RawBuilder<Row>, atOnce = 1_000): AsyncGenerator<Row> {
  const trx = await db.startTransaction().setAccessMode('read only').execute();
  try {
    await run(trx)`declare found no scroll cursor for ${query}`;
    for (;;) {
      const rows = await allRows<Row>(trx)`fetch ${sql.lit(atOnce)} from found`;
      yield* rows;
      if (rows.length < atOnce) return;
    }
  } finally {
    await trx.rollback().execute();
  }
}
