import { isRawNumber } from '../../events/exact-json.ts';
import type { Format } from '../sender.ts';
import { factsOf } from './facts.ts';
import type { Mapping } from './document.ts';
import { ip, text, unmappedReading, type Fact } from './readings.ts';

/**
 * Attributes by the semantic conventions of OpenTelemetry 1.37. Facts without one are under `xiq`. The description is
 * the body.
 */
export const OTLP_MAPPINGS: readonly Mapping[] = [
  ['event_id', 'log.record.uid'],
  ['payload', 'log.record.original'],
  ['actor_id', 'user.id'],
  ['actor_name', 'user.name'],
  ['user_name', 'user.name'],
  ['user_email', 'user.email'],
  ['client_ip', 'client.address', ip],
  ['acct_session_id', 'session.id'],
  ['host_name', 'host.name'],
  ['device_id', 'host.id'],
  ['owner_id', 'cloud.account.id'],
  ['outcome', 'xiq.outcome'],
  ['target_user', 'xiq.target_user'],
];

const MAPPED: ReadonlySet<string> = new Set([
  ...OTLP_MAPPINGS.map(([fact]) => fact),
  'occurred_at',
  'received_at',
  'description',
]);

/** The name of the event, its body and its attributes, as JSON; the sender adds what is the same in every format. */
export const formatOtlp: Format = (event) => {
  const { recorded, derived } = factsOf(event);
  const eventName = `xiq.${text(derived['action'] ?? 'other').replaceAll('-', '_')}`;
  // The convention has the name in a field of its own, which some receivers do not keep.
  const attributes: Record<string, unknown> = { 'event.name': eventName };
  for (const [fact, attribute, reading = text] of OTLP_MAPPINGS) {
    const value: Fact | undefined = derived[fact] ?? recorded[fact];
    if (value !== undefined) attributes[attribute] = reading(value) ?? attributes[attribute];
  }
  for (const [fact, value] of Object.entries(recorded)) {
    if (MAPPED.has(fact)) continue;
    const read = unmappedReading(fact)(value);
    // A number that the sender could not read without losing digits stays a text.
    attributes[`xiq.${fact}`] = isRawNumber(read) ? text(value) : read;
  }
  return JSON.stringify({
    eventName,
    body: text(recorded['description'] ?? derived['name'] ?? ''),
    attributes,
  });
};
