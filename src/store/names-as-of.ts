import type { Db } from './database.ts';
import { inScope, type Scope } from './scope.ts';
import { viewEvent, type EventNames, type StoredEvent } from './stored-event.ts';
import { allRows } from './statement.ts';

/** What to name, and the time for which. */
export interface Unnamed {
  readonly source: string;
  readonly at: Date | string;
  /** MAC address of an access point. */
  readonly mac?: string | null;
  /** Ids of a location and of those that contain it, in any order. It counts if the place of the access point is not known. */
  readonly locationIds?: readonly string[] | null | undefined;
  readonly user?: string | null;
}

/**
 * The names that the inventory of a source had at a time, in the order of what is asked, in one query. Undefined where it had
 * none, or the source is not in the scope.
 */
export async function namesAsOf(
  db: Db,
  scope: Scope,
  asked: readonly Unnamed[],
): Promise<readonly (EventNames | undefined)[]> {
  const names: (EventNames | undefined)[] = asked.map(() => undefined);
  if (asked.length === 0) return names;
  const numbered = JSON.stringify(asked.map((one, number) => ({ ...one, number })));
  const rows = await allRows<EventNames & { number: number }>(db)`
    select number, ap_name as "accessPoint", place, person_name as person, person_role as role
    from jsonb_to_recordset(${numbered}::jsonb)
        as asked (number int, source text, at timestamptz, mac macaddr, "locationIds" bigint[], "user" text)
      cross join lateral names_at(source, mac, "locationIds", "user", at)
    where ${inScope(scope)} and coalesce(ap_name, place, person_name, person_role) is not null`;
  for (const { number, ...found } of rows) names[number] = found;
  return names;
}

/** Events with the names that the inventory had at their time. */
export async function withNames<Event extends StoredEvent>(
  db: Db,
  scope: Scope,
  events: readonly Event[],
): Promise<readonly Event[]> {
  const names = await namesAsOf(db, scope, events.map(unnamedIn));
  return events.map((event, index) => ({ ...event, names: names[index] }));
}

function unnamedIn(event: StoredEvent): Unnamed {
  const { source, occurredAt: at, columns } = event;
  const { apMac: mac, user } = viewEvent(event);
  const { location_id_hierarchy: locationIds } = columns;
  return { source, at, mac, user, locationIds: typeof locationIds === 'string' ? null : locationIds };
}
