import { hash } from 'node:crypto';

/**
 * The id of an event, made from its content, because the cloud assigns none: a UUIDv8 (RFC 9562, section 5.8) of the
 * SHA-256 over source, message type, canonical JSON and the ordinal among identical records of the same delivery. The
 * same event delivered again gets the same id; identical records in one body get different ids.
 */
export function eventId(source: string, messageType: string, canonical: string, ordinal: number): string {
  const digest = hash('sha256', `${source}\n${messageType}\n${ordinal}\n${canonical}`, 'hex');
  return toUuid8(digest);
}

/** The id of a quarantined item of a delivery. Running the job again yields the same id. */
export function quarantineId(deliveryId: string, ordinal: number): string {
  return toUuid8(hash('sha256', `${deliveryId}\n${ordinal}`, 'hex'));
}

/** The id of the delivery that a replay of an item makes. Replaying the item again yields the same id. */
export function replayDeliveryId(quarantineId: string): string {
  return toUuid8(hash('sha256', `replay\n${quarantineId}`, 'hex'));
}

const VARIANT = ['8', '9', 'a', 'b'];

function toUuid8(hex: string): string {
  const variant = VARIANT[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
