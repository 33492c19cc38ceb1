import { sql } from 'kysely';

/** The condition that leaves superseded events out. Only fetched events are looked up, by the primary key. */
export const NOT_SUPERSEDED = sql<boolean>`(origin = 'webhook' or not is_superseded(event_id))`;
