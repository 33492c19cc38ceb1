import { isIP } from 'node:net';
import {
  compatibilityPartitioner,
  Producer,
  stringSerializers,
  AuthenticationError,
  ProtocolError,
} from '@platformatic/kafka';
import { type Message, type Sender, BatchRefusedError, EndpointRefusedError } from '../sender.ts';
import { tlsConnectionOptions } from './connection-options.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { OutageError } from '../../lib/errors.ts';

const MECHANISMS = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const;

/** Attempts after the first one that the broker can tell from new messages. */
const RETRIES = 2;
const RETRY_DELAY_MS = 500;

/** Writing the records of one request takes a few milliseconds, in which nothing else runs. */
const REQUEST_EVENTS = 500;

type TextProducer = Producer<string, string, string, string>;

/**
 * Produces one message for each event, with its source as the key: the events of a source go to one partition, in order.
 * Accepted when all replicas in sync have every message of the batch.
 *
 * The producer is idempotent: brokers recognize what it repeats after a lost answer. That ends with the producer. After
 * a failure the next attempt has a new one, so brokers may get the batch again, whole or in part, but no earlier one.
 */
export function createKafkaSender(options: KafkaOptions): Sender {
  const { topic, create_topic: mayCreate } = options;
  const name = `kafka topic ${topic} at ${options.brokers.join(',')}`;
  let producer: TextProducer | undefined;

  async function end(): Promise<void> {
    const ended = producer;
    producer = undefined;
    if (ended === undefined) return;
    // What has no answer yet would keep a connection open, and its batch is resent anyway.
    for (const [, connection] of ended.connections) connection.socket.destroy();
    await ended.close();
  }

  return {
    async send(batch) {
      producer ??= createProducer(options);
      const messages = batch.map((message) => toRecord(topic, message));
      try {
        for (let at = 0; at < messages.length; at += REQUEST_EVENTS) {
          await producer.send({ messages: messages.slice(at, at + REQUEST_EVENTS) });
        }
        return [];
      } catch (cause) {
        await end();
        throw kafkaFailure(`${name} did not accept ${batch.length} events`, cause, mayCreate);
      }
    },
    close: end,
  };
}

function createProducer(options: KafkaOptions): TextProducer {
  const { brokers, tls, sasl, compression, create_topic: autocreateTopics } = options;
  const timeoutMs = options.timeout_seconds * 1000;
  const producer: TextProducer = new Producer({
    clientId: 'xiq-sink',
    bootstrapBrokers: brokers,
    serializers: stringSerializers,
    // The partition that all usual clients choose for a key.
    partitioner: compatibilityPartitioner,
    idempotent: true,
    // None yet: the library's default of 0 asks a broker to go on with another producer's.
    producerId: -1n,
    producerEpoch: -1,
    compression,
    autocreateTopics,
    retries: RETRIES,
    retryDelay: RETRY_DELAY_MS,
    connectTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    timeout: timeoutMs,
    ...(tls === undefined
      ? {}
      : { tls: tlsConnectionOptions(tls), tlsServerName: tls.server_name ?? brokers.every(hasName) }),
    ...(sasl === undefined ? {} : { sasl: { ...sasl, mechanism: MECHANISMS[sasl.mechanism] } }),
  });
  // The library leaves a refused connection open, and nobody hears its errors: a later reset would end the process.
  producer.on('client:broker:failed', ({ connection }) => connection.socket.destroy());
  return producer;
}

const hasName = (broker: string) => !broker.startsWith('[') && isIP(broker.replace(/:\d+$/, '')) === 0;

const toRecord = (topic: string, { event, text }: Message) => ({
  topic,
  key: event.source,
  value: text,
  headers: { event_id: event.eventId, message_type: event.messageType },
});

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

/** Some messages of the protocol are whole paragraphs: their first sentence names the problem. */
function describeReason(reason: Error): string {
  const [message = ''] = (reason.message || reason.name).split(/\.(?:\s|$)/);
  return reason instanceof ProtocolError ? `${String(reason['apiId'])}, ${message}` : message;
}
