import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { query } from '../support/query.ts';
import { z } from 'zod';
import type { Obligation } from '../faults/ledger.ts';
import type { Payload } from '../faults/payloads.ts';

/** A stored event, as far as it shows what it was made from. */
export interface StoredEvent {
  readonly number: number;
  readonly messageType: string;
  readonly payload: unknown;
}

const Row = z.object({ number: z.string(), message_type: z.string(), payload: z.unknown() });

/** Reads every event of a source, of the two families that the load sends. */
export async function readEvents(databaseUrl: string, source: string): Promise<StoredEvent[]> {
  const rows = await query(
    databaseUrl,
    `select user_id::text as number, message_type, payload from audit_events where source = $1
     union all
     select ('x' || lpad(replace(client_mac::text, ':', ''), 16, '0'))::bit(64)::bigint::text, message_type, payload
       from location_observations where source = $1`,
    [source],
  );
  return z
    .array(Row)
    .parse(rows)
    .map(({ number, message_type, payload }) => ({
      number: Number(number),
      messageType: message_type,
      payload,
    }));
}

/** How many stored events nobody sent, or not so: another type, or a payload that differs in any member. */
export function countWrong(events: readonly StoredEvent[], sent: ReadonlyMap<number, Payload>): number {
  return events.filter(({ number, messageType, payload }) => {
    const origin = sent.get(number);
    if (origin === undefined || messageType !== origin.messageType) return true;
    return !isDeepStrictEqual(payload, expectedPayload(origin, number));
  }).length;
}

const LocationBody = z.looseObject({ observations: z.array(z.unknown()) });

/** What a record is stored as; of an observation, its record with this observation alone. */
function expectedPayload({ messageType, body, numbers }: Payload, number: number): unknown {
  const index = numbers.indexOf(number);
  const parsed: unknown = JSON.parse(body);
  if (messageType === 'AUDIT_LOG_ALL') return z.array(z.unknown()).parse(parsed)[index];
  const record = LocationBody.parse(parsed);
  return { ...record, observations: [record.observations[index]] };
}

/** Ids of all stored deliveries. */
export async function readDeliveryIds(databaseUrl: string): Promise<string[]> {
  const rows = await query(databaseUrl, 'select delivery_id from deliveries');
  return z
    .array(z.object({ delivery_id: z.string() }))
    .parse(rows)
    .map(({ delivery_id }) => delivery_id);
}

/** Ids of acknowledged deliveries that are not stored. */
export async function findMissing(
  databaseUrl: string,
  obligations: readonly Obligation[],
): Promise<string[]> {
  const stored = new Set(await readDeliveryIds(databaseUrl));
  return obligations.map(({ deliveryId }) => deliveryId).filter((id) => !stored.has(id));
}

/** Ids of stored events that the forwarder's file does not contain. */
export async function findUnforwarded(databaseUrl: string, file: string): Promise<string[]> {
  const rows = z
    .array(z.object({ event_id: z.string() }))
    .parse(await query(databaseUrl, 'select event_id from events'));
  const forwarded = new Set((await readFile(file, 'utf8')).match(UUIDS));
  return rows.map(({ event_id }) => event_id).filter((id) => !forwarded.has(id));
}

/** Ids of deliveries or events in a text. */
export const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
