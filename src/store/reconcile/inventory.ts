import { sql, type Selectable } from 'kysely';
import type { Db } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { allRows, run } from '../server/statement.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { viewEvent, type EventNames, type StoredEvent } from '../../events/stored-event.ts';

export type InventoryTable = 'devices' | 'locations' | 'organizations' | 'people';

/** The row of each table of the inventory without its versions. Ids are 64-bit numbers. */
export type InventoryRows = {
  readonly [Table in InventoryTable]: Readonly<
    Omit<Selectable<Tables[Table]>, 'id' | 'source' | 'valid_from' | 'valid_to'>
  >;
};

/** The columns of each table, the id first. */
const COLUMNS = {
  devices: ['device_id', 'mac', 'serial_number', 'host_name', 'function', 'location_id'],
  locations: ['location_id', 'parent_id', 'name', 'type', 'place'],
  organizations: ['organization_id', 'name'],
  people: ['person_id', 'user_name', 'name', 'role'],
} as const satisfies { readonly [Table in InventoryTable]: readonly (keyof InventoryRows[Table])[] };

/**
 * Stores what a source has at a time, all of it: the version of a thing that differs or is missing ends then, and another one
 * begins. What is the same stays. Nothing ends if `rows` is empty: that is rather a fault of the cloud. Resolves with the
 * number of versions that began and ended.
 */
export async function saveInventory<Table extends InventoryTable>(
  db: Db,
  table: Table,
  source: string,
  rows: readonly InventoryRows[Table][],
  at: Date,
) {
  if (rows.length === 0) return { begun: 0, ended: 0 };
  const columns: readonly string[] = COLUMNS[table];
  const names = columns.map((name) => sql.ref(name));
  const listed = (qualifier: string) => sql.join(columns.map((name) => sql.ref(`${qualifier}.${name}`)));
  const stored = sql.table(table);
  const given = sql`jsonb_populate_recordset(null::${stored}, ${JSON.stringify(rows)}::jsonb) as given`;
  const isOpen = sql`source = ${source} and valid_to is null`;
  return db.transaction().execute(async (trx) => {
    // After every version so far, also if a clock was set back.
    const times = await allRows<{ at: Date }>(trx)`
      select greatest(${at}::timestamptz,
        max(greatest(valid_from, valid_to)) + interval '1 millisecond') as at
      from ${stored} where source = ${source}`;
    const from = times[0]?.at ?? at;
    const ended = await run(trx)`
      update ${stored} as known set valid_to = ${from} where ${isOpen}
        and not exists (select from ${given} where (${listed('given')}) is not distinct from (${listed('known')}))`;
    const [id] = names;
    const begun = await run(trx)`
      insert into ${stored} (source, valid_from, ${sql.join(names)})
      select ${source}, ${from}, ${listed('given')} from ${given}
      where not exists (select from ${stored} as known where ${isOpen} and known.${id} = given.${id})`;
    return { begun, ended };
  });
}

/** Deletes versions by the id of the row. */
export async function deleteVersions(db: Db, ids: Readonly<Record<InventoryTable, readonly string[]>>) {
  for (const [table, some] of Object.entries(ids)) {
    await run(db)`delete from ${sql.table(table)} where id = any(${arrayLiteral(some)}::bigint[])`;
  }
}

/** What to name, and the time for which. */
export interface Unnamed {
  readonly source: string;
  readonly at: Date | string;
  /** MAC address of an access point. */
  readonly mac?: string | null;
  /** Ids of a location and of those that contain it, in any order. It counts if the place of the access point is not known. */
  readonly locationIds?: readonly string[] | null | undefined;
  readonly user?: string | null;
  readonly orgId?: string | null;
}

/**
 * The names that the inventory of a source had at a time, in the requested order, in one query. Undefined if it had
 * none, or the source is not in the scope.
 */
export async function namesAsOf(db: Db, scope: Scope, asked: readonly Unnamed[]) {
  const names: (EventNames | undefined)[] = asked.map(() => undefined);
  if (asked.length === 0) return names;
  const numbered = JSON.stringify(asked.map((one, number) => ({ ...one, number })));
  const rows = await allRows<EventNames & { number: number }>(db)`
    select number, ap_name as "accessPoint", place, person_name as person, person_role as role, organization
    from jsonb_to_recordset(${numbered}::jsonb) as asked (number int, source text, at timestamptz, mac macaddr,
          "locationIds" bigint[], "user" text, "orgId" bigint)
      cross join lateral names_at(source, mac, "locationIds", "user", at)
      cross join lateral organization_at(source, "orgId", at) as organization
    where ${inScope(scope)} and coalesce(ap_name, place, person_name, person_role, organization) is not null`;
  for (const { number, ...found } of rows) names[number] = found;
  return names;
}

/** Events with the names that the inventory had at their time. */
export async function withNames<Event extends StoredEvent>(db: Db, scope: Scope, events: readonly Event[]) {
  const names = await namesAsOf(db, scope, events.map(unnamedIn));
  return events.map((event, index) => ({ ...event, names: names[index] }));
}

function unnamedIn(event: StoredEvent): Unnamed {
  const { source, occurredAt: at, columns, orgId } = event;
  const { apMac: mac, user } = viewEvent(event);
  const { location_id_hierarchy: locationIds } = columns;
  return { source, at, mac, user, orgId, locationIds: typeof locationIds === 'string' ? null : locationIds };
}
