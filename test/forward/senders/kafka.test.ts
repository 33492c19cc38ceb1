import { MultipleErrors, NetworkError, ProtocolError, protocolErrors } from '@platformatic/kafka';
import { describe, expect, test } from 'vitest';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { BatchRefusedError, EndpointRefusedError } from '../../../src/forward/sender.ts';
import { kafkaFailure, createKafkaSender } from '../../../src/forward/senders/kafka.ts';
import { kafkaOptions } from '../../../src/forward/senders/kafka-options.ts';
import { hasOpenssl, makeCertificate } from '../../support/certificates.ts';
import { kafkaBroker, SASL_AUTHENTICATION_FAILED } from './kafka-stand-in.ts';
import { messages } from './messages.ts';

const failureOf = (errors: Error[], mayCreateTopic = false) =>
  kafkaFailure('it failed', new MultipleErrors('produce failed 4 times.', errors), mayCreateTopic);

const sasl = { username: 'sink', password: 'secret' };

const OF_EVENTS = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
]);
const OF_SETTINGS = new Set([
  'CLUSTER_AUTHORIZATION_FAILED',
  'ILLEGAL_SASL_STATE',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
  'SASL_AUTHENTICATION_FAILED',
  'SECURITY_DISABLED',
  'TOPIC_AUTHORIZATION_FAILED',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'UNSUPPORTED_COMPRESSION_TYPE',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'UNSUPPORTED_SASL_MECHANISM',
  'UNSUPPORTED_VERSION',
]);

function kindOf(id: string) {
  if (OF_EVENTS.has(id)) return BatchRefusedError;
  return OF_SETTINGS.has(id) ? EndpointRefusedError : OutageError;
}

test.each(Object.keys(protocolErrors))('%s means what it says for the batch', (id) => {
  const failure = failureOf([new ProtocolError(id)]);
  expect(failure).toBeInstanceOf(kindOf(id));
  expect(describeError(failure)).toContain(`it failed: ${id}, `);
});

test('an unknown topic that may be created is awaited', () => {
  expect(failureOf([new ProtocolError('UNKNOWN_TOPIC_OR_PARTITION')], true)).toBeInstanceOf(OutageError);
});

test.each([
  ['a lost connection', new NetworkError('Connection closed'), OutageError],
  ['the settings', new ProtocolError('TOPIC_AUTHORIZATION_FAILED'), EndpointRefusedError],
  ['another event', new ProtocolError('INVALID_RECORD'), BatchRefusedError],
])('of an event and %s, the reason that decides is the one that may pass first', (_name, other, kind) => {
  expect(failureOf([new ProtocolError('MESSAGE_TOO_LARGE'), other])).toBeInstanceOf(kind);
});

test('a refused log-in counts as one through the error of its connection', () => {
  const cause = new ProtocolError('SASL_AUTHENTICATION_FAILED');
  expect(failureOf([new NetworkError('Connection failed.', { cause })])).toBeInstanceOf(EndpointRefusedError);
});

describe.skipIf(!hasOpenssl)('TLS (needs openssl on PATH to make certificates)', () => {
  async function failureAt(secure: (ca: string) => object) {
    using certificate = makeCertificate('DNS:kafka.test');
    const { cert, key } = certificate;
    const broker = await kafkaBroker({ cert, key }, { login: SASL_AUTHENTICATION_FAILED });
    const given = { brokers: [`127.0.0.1:${broker.port}`], topic: 'events', ...secure(cert) };
    const sender = createKafkaSender(kafkaOptions.parse(given));
    const failure = await sender.send(messages(1)).catch((error: unknown) => error);
    await sender.close();
    // Nobody would hear the error of a connection that is still open: the run fails by it.
    for (const socket of broker.sockets) socket.destroy();
    return { failure, logins: broker.logins };
  }

  test.each([
    ['plain', 'PLAIN', /^\0sink\0secret$/],
    ['scram-sha-256', 'SCRAM-SHA-256', /^n,,n=sink,r=/],
    ['scram-sha-512', 'SCRAM-SHA-512', /^n,,n=sink,r=/],
  ])(
    'the forwarder logs in by %s, and a refusal is one of the endpoint, without the password',
    async (mechanism, name, credentials) => {
      const { failure, logins } = await failureAt((ca) => ({
        tls: { ca, server_name: 'kafka.test' },
        sasl: { ...sasl, mechanism },
      }));
      expect(failure).toBeInstanceOf(EndpointRefusedError);
      expect(logins[0]).toBe(name);
      expect(logins[1]).toMatch(credentials);
      expect(describeError(failure)).toMatch(/SASL_AUTHENTICATION_FAILED/);
      expect(describeError(failure)).not.toContain('secret');
    },
  );
});
