import { sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';
import type { EventFilter } from '../../src/store/event-filter.ts';

/** What a search has to find, by a query over everything that is too simple to be wrong: ids, newest first. */
export async function naiveSearch(db: Db, filter: EventFilter): Promise<string[]> {
  const { source, user, code, orgId, mac, accessPoint, device, text, since, until } = filter;
  const types = filter.messageTypes?.length === 0 ? undefined : filter.messageTypes;
  const isAny = <T>(value: T | undefined) => value ?? null;
  const { rows } = await sql<{ id: string }>`
    select events.id from events
      left join audit_events as audit on audit.id = events.id
      left join log_entries as log on log.id = events.id
      left join alerts_received as alert on alert.id = events.id
    where (${isAny(types)}::text[] is null or events.message_type = any(${isAny(types)}::text[]))
      and (${isAny(source)}::text is null or events.source = ${isAny(source)})
      and (${isAny(user)}::text is null or events.user_name = ${isAny(user)})
      and (${isAny(code)}::bigint is null or events.code = ${isAny(code)})
      and (${isAny(orgId)}::bigint is null or events.org_id = ${isAny(orgId)})
      and (${isAny(mac)}::macaddr is null or ${isAny(mac)} in (events.client_mac, events.ap_mac))
      and (${isAny(accessPoint)}::macaddr is null or events.ap_mac = ${isAny(accessPoint)})
      and (${isAny(device)}::text is null or ${isAny(device)} = any(
        array[log.device_serial_number, alert.alert_source_id, alert.alert_source_name] || audit.host_names
          || audit.device_ids::text[]))
      and (${isAny(text)}::text is null or position(lower(${isAny(text)}) in lower(events.payload::text)) > 0)
      and (${isAny(since)}::timestamptz is null or events.occurred_at >= ${isAny(since)})
      and (${isAny(until)}::timestamptz is null or events.occurred_at < ${isAny(until)})
    order by events.occurred_at desc, events.event_id desc`.execute(db);
  return rows.map(({ id }) => id);
}
