import { sql } from 'kysely';
import type { Db } from './database.ts';
import { arrayLiteral } from './insert-rows.ts';
import { allRows, run } from './statement.ts';

/** A device in the cloud. Ids are 64-bit numbers. */
export interface Device {
  readonly device_id: string;
  readonly mac: string | null;
  readonly serial_number: string | null;
  readonly host_name: string | null;
  readonly function: string | null;
  readonly location_id: string | null;
}

/** A location in the cloud. */
export interface Location {
  readonly location_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly type: string | null;
  /** The name after those of the locations that contain it, from the building on. */
  readonly place: string;
}

/** An administrator or another user of the account in the cloud. */
export interface Person {
  readonly person_id: string;
  readonly user_name: string;
  readonly name: string | null;
  readonly role: string | null;
}

/** The rows of each table of the inventory. */
export interface InventoryRows {
  readonly devices: Device;
  readonly locations: Location;
  readonly people: Person;
}

export type InventoryTable = keyof InventoryRows;

/** The columns of each table, the id first. */
const COLUMNS = {
  devices: ['device_id', 'mac', 'serial_number', 'host_name', 'function', 'location_id'],
  locations: ['location_id', 'parent_id', 'name', 'type', 'place'],
  people: ['person_id', 'user_name', 'name', 'role'],
} as const satisfies { readonly [Table in InventoryTable]: readonly (keyof InventoryRows[Table])[] };

/** How many versions began and ended. */
export interface SavedVersions {
  readonly begun: number;
  readonly ended: number;
}

/**
 * Stores what a source has at a time, all of it: the version of a thing that differs or is missing ends then, and another one
 * begins. What is the same stays. Nothing ends if `rows` is empty: that is rather a fault of the cloud.
 */
export async function saveInventory<Table extends InventoryTable>(
  db: Db,
  table: Table,
  source: string,
  rows: readonly InventoryRows[Table][],
  at: Date,
): Promise<SavedVersions> {
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

/** Numbers that are not a person's. */
const IDS = ['id', 'device_id', 'location_id', 'parent_id', 'person_id'];

/** Finds the versions that match a pattern, by the id of the row. */
export async function findVersions(
  db: Db,
  pattern: string,
): Promise<Readonly<Record<InventoryTable, readonly string[]>>> {
  const matching = async (table: InventoryTable) => {
    const rows = await allRows<{ id: string }>(db)`
      select id::text from ${sql.table(table)} as version
      where (to_jsonb(version) - ${IDS}::text[])::text ~* ${pattern} order by version.id`;
    return rows.map(({ id }) => id);
  };
  return {
    devices: await matching('devices'),
    locations: await matching('locations'),
    people: await matching('people'),
  };
}

/** Deletes versions by the id of the row. */
export async function deleteVersions(
  db: Db,
  ids: Readonly<Record<InventoryTable, readonly string[]>>,
): Promise<void> {
  for (const [table, some] of Object.entries(ids)) {
    await run(db)`delete from ${sql.table(table)} where id = any(${arrayLiteral(some)}::bigint[])`;
  }
}
