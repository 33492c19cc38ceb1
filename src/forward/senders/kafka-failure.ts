import { AuthenticationError, ProtocolError } from '@platformatic/kafka';
import { OutageError } from '../../errors.ts';
import { BatchRefusedError, EndpointRefusedError } from '../sender.ts';

/** Errors of the protocol (https://kafka.apache.org/protocol#protocol_error_codes) for which an event may be at fault. */
const OF_EVENTS = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
]);

/** Errors of the protocol that stay until somebody changes a setting, here or in the cluster. */
const OF_SETTINGS = new Set([
  'CLUSTER_AUTHORIZATION_FAILED',
  'ILLEGAL_SASL_STATE',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
  'SASL_AUTHENTICATION_FAILED',
  'SECURITY_DISABLED',
  'TOPIC_AUTHORIZATION_FAILED',
  'UNSUPPORTED_COMPRESSION_TYPE',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'UNSUPPORTED_SASL_MECHANISM',
  'UNSUPPORTED_VERSION',
]);

type Fault = 'event' | 'settings' | 'outage';

/**
 * The error that a failed attempt means for its batch. One attempt may fail for several reasons: in several partitions,
 * or again and again. It counts as refused only if no reason among them may pass, because then a new attempt tells.
 */
export function kafkaFailure(what: string, error: unknown, mayCreateTopic: boolean): Error {
  const reasons = reasonsOf(error);
  const faults = new Set(reasons.map((reason) => faultOf(reason, mayCreateTopic)));
  // The library's own messages tell little more than the number of attempts: a full stop ends the explanation.
  const message = `${what}: ${[...new Set(reasons.map(describeReason))].join('; ')}.`;
  if (faults.has('outage') || faults.size === 0) return new OutageError(message, { cause: error });
  if (faults.has('settings')) return new EndpointRefusedError(message, { cause: error });
  return new BatchRefusedError(message, { cause: error });
}

/** The innermost errors: the library wraps those of partitions, attempts and connections. */
function reasonsOf(error: unknown): readonly Error[] {
  if (!(error instanceof Error)) return [];
  const wrapped: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  const inner = [...wrapped, error.cause].flatMap(reasonsOf);
  return inner.length === 0 ? [error] : inner;
}

function faultOf(reason: Error, mayCreateTopic: boolean): Fault {
  if (reason instanceof AuthenticationError) return 'settings';
  const id = reason instanceof ProtocolError ? String(reason['apiId']) : '';
  // The library has words of its own for this answer to its question for the topic's partitions.
  if (id === 'UNKNOWN_TOPIC_OR_PARTITION' || reason.message.startsWith('Unknown topic ')) {
    return mayCreateTopic ? 'outage' : 'settings';
  }
  if (OF_EVENTS.has(id)) return 'event';
  return OF_SETTINGS.has(id) ? 'settings' : 'outage';
}

/** Some messages of the protocol are whole paragraphs: their first sentence tells what is wrong. */
function describeReason(reason: Error): string {
  const [message = ''] = (reason.message || reason.name).split(/\.(?:\s|$)/);
  return reason instanceof ProtocolError ? `${String(reason['apiId'])}, ${message}` : message;
}
