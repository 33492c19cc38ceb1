import { sql, type Kysely } from 'kysely';

/** Older programs have no inventory. */
export const olderProgramsMayRun = true;

/**
 * Devices, locations and administrators as the API of the cloud names them, with the time for which each version is valid:
 * a renamed device keeps its old name on old events.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createVersioned(
    db,
    'devices',
    'device_id',
    sql`mac macaddr, serial_number text, host_name text, function text, location_id bigint`,
  );
  await createVersioned(
    db,
    'locations',
    'location_id',
    sql`parent_id bigint, name text not null, type text, place text not null`,
  );
  await createVersioned(db, 'people', 'person_id', sql`user_name text not null, name text, role text`);
  await sql`create index devices_mac on devices (source, mac, valid_from)`.execute(db);
  await sql`create index people_user_name on people (source, lower(user_name), valid_from)`.execute(db);
  await createLookUp(db);
  await sql`grant select on devices, locations, people, named_events to xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

/** A table with one row for each version of a thing. Two versions of one thing cannot overlap. */
async function createVersioned(
  db: Kysely<unknown>,
  table: string,
  id: string,
  columns: ReturnType<typeof sql>,
) {
  await sql`
    create table ${sql.id(table)} (
      id bigint generated always as identity primary key,
      source text not null,
      ${sql.id(id)} bigint not null,
      ${columns},
      valid_from timestamptz not null,
      valid_to timestamptz check (valid_to > valid_from),
      unique (source, ${sql.id(id)}, valid_from),
      exclude using gist (
        ${only(sql`hashtextextended(source, 0)`)} with &&, ${only(sql.id(id))} with &&,
        tstzrange(valid_from, valid_to) with &&)
    )`.execute(db);
}

/** A number as the range that contains it alone: without an extension, gist has operators only for ranges. */
const only = (number: ReturnType<typeof sql>) => sql`numrange(${number}, ${number}, '[]')`;

const AS_OF = sql`valid_from <= at and (valid_to is null or valid_to > at)`;

/** One function looks names up, for the view and for the program. It always returns one row. */
async function createLookUp(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function names_at(
      of_source text, of_ap macaddr, of_locations bigint[], of_user text, at timestamptz,
      out ap_name text, out place text, out person_name text, out person_role text
    ) returns setof record language sql stable parallel safe begin atomic
      select device.host_name, coalesce(location_of_device.place, deepest.place), person.name, person.role
      from (values (1)) as one
      left join lateral (
        select host_name, location_id from devices
        where source = of_source and mac = of_ap and ${AS_OF} order by valid_from desc, id desc limit 1
      ) as device on true
      left join lateral (
        select locations.place from locations
        where source = of_source and location_id = device.location_id and ${AS_OF} limit 1
      ) as location_of_device on true
      left join lateral (
        with known as (
          select location_id, parent_id, locations.place from locations
          where source = of_source and location_id = any(of_locations) and ${AS_OF}
        )
        select known.place from known
        where not exists (select from known as child where child.parent_id = known.location_id) limit 1
      ) as deepest on true
      left join lateral (
        select name, role from people
        where source = of_source and lower(user_name) = lower(of_user) and ${AS_OF} order by valid_from desc, id desc limit 1
      ) as person on true;
    end`.execute(db);
  await sql`
    create view named_events as
      select events.*, names.* from events
        cross join lateral names_at(source, ap_mac, null, user_name, occurred_at) as names`.execute(db);
}

const COMMENTS = {
  'table devices': 'Devices of the cloud, one row for each version',
  'column devices.device_id': 'The id in the cloud, as in audit_events.device_ids',
  'column devices.mac': 'As in the column ap_mac of events, if it is an access point',
  'column devices.location_id': 'As in locations',
  'column devices.valid_from': 'When a refresh saw this version first',
  'column devices.valid_to': 'When a refresh saw another version, or that the device is gone; null: now',
  'table locations': 'Locations of the cloud, one row for each version',
  'column locations.parent_id': 'The location that contains this one',
  'column locations.type': 'As the cloud names it',
  'column locations.place': 'The name after those of the locations that contain it, from the building on',
  'table people': 'Administrators and other users of the account in the cloud, one row for each version',
  'column people.user_name':
    'The login name, usually an e-mail address, as in the column user_name of events',
  'view named_events': 'Events with the names that the inventory had at their time',
} as const;
