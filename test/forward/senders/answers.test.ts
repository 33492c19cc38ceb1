import { describe, expect, test } from 'vitest';
import { OutageError } from '../../../src/lib/errors.ts';
import { BatchRefusedError, EndpointRefusedError, RetryLaterError } from '../../../src/forward/sender.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { message } from './messages.ts';
import { inTurn, standIn, type Reply } from '../../support/stand-in.ts';

/** A destination that HTTP reaches: its options, for the address of the receiver. */
const DESTINATIONS = {
  splunk_hec: (url: string) => ({ url, token: 'the-token' }),
  elasticsearch: (url: string) => ({ url, index: 'logs' }),
  https: (url: string) => ({ url, allow_private: true }),
  otlp: (url: string) => ({ url }),
  s3: (endpoint: string) => ({
    bucket: 'events',
    endpoint,
    access_key_id: 'id',
    secret_access_key: 'the-secret',
  }),
  chat: (url: string) => ({ url, service: 'slack', allow_private: true }),
} as const;

/** What is answered, and the name of the error that it means, or `accepted`. */
type Answer = readonly [Reply, string];

const [OUTAGE, LATER] = [OutageError.name, RetryLaterError.name];
const [NOT_THE_EVENTS, THE_EVENTS] = [EndpointRefusedError.name, BatchRefusedError.name];

const statuses = (meaning: string, ...all: readonly number[]): Answer[] =>
  all.map((status) => [{ status }, meaning]);

/** What every destination reached by HTTP makes of these: one of them stands for all. */
const USUAL: readonly Answer[] = [
  ...statuses(NOT_THE_EVENTS, 301, 401, 403, 404, 405, 410),
  ...statuses(THE_EVENTS, 400, 413, 422),
  ...statuses(OUTAGE, 408, 425, 429, 500, 502, 503),
  [{ status: 503, headers: { 'retry-after': '17' } }, LATER],
  ['endless', NOT_THE_EVENTS],
];

const HTML = { 'content-type': 'text/html' };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const LOGIN_PAGE: Answer = [{ headers: HTML, raw: '<!DOCTYPE html><html>Log in' }, OUTAGE];

/** The answers that splunk_hec does not take for its receipt, acknowledged or not. */
const NO_HEC_RECEIPT: readonly Answer[] = [
  LOGIN_PAGE,
  [{ raw: '' }, OUTAGE],
  [{ raw: '"code":0' }, OUTAGE],
  [{ json: {} }, OUTAGE],
  [{ json: { text: 'Server is busy', code: 9 } }, OUTAGE],
  [{ json: { text: 'Success', code: '0' } }, OUTAGE],
];

const item = (status: number, type: string): Reply => ({
  json: { items: [{ create: { status, error: { type, reason: 'because' } } }] },
});

const s3Error = (status: number, code: string): Reply => ({
  status,
  raw: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>because</Message></Error>`,
  headers: { 'content-type': 'application/xml' },
});

const FAILED_CONNECTOR =
  'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429';

const ANSWERS: readonly (readonly [
  type: keyof typeof DESTINATIONS,
  given: object,
  answers: readonly Answer[],
])[] = [
  ['splunk_hec', {}, [...USUAL, ...NO_HEC_RECEIPT, [{ status: 400, json: { code: 7 } }, NOT_THE_EVENTS]]],
  ['splunk_hec', { acknowledge: true }, [...NO_HEC_RECEIPT, [{ json: { code: 0 } }, OUTAGE]]],
  [
    'elasticsearch',
    {},
    [
      [item(404, 'index_not_found_exception'), NOT_THE_EVENTS],
      [item(403, 'security_exception'), NOT_THE_EVENTS],
      LOGIN_PAGE,
      [{ json: { errors: false } }, OUTAGE],
      [{ json: { items: [] } }, OUTAGE],
      [{ json: { items: [{ create: { status: 201 } }, { create: { status: 201 } }] } }, OUTAGE],
      [{ json: { items: [{ delete: { status: 200 } }] } }, OUTAGE],
      // No event causes an answer that is too long.
      [{ raw: 'x'.repeat(2_000_000) }, OUTAGE],
    ],
  ],
  [
    'https',
    {},
    [
      [{ status: 206, raw: 'thanks' }, 'accepted'],
      [{ status: 204 }, 'accepted'],
      [{ raw: '<!DOCTYPE html><html>Log in' }, OUTAGE],
      [{ raw: '<?xml?><html/>', headers: { 'content-type': 'application/xhtml+xml' } }, OUTAGE],
      [{ raw: '\n<html lang="en">' }, OUTAGE],
    ],
  ],
  ['https', { expect_status: 202 }, [...statuses('accepted', 202), ...statuses(OUTAGE, 200)]],
  [
    'https',
    { expect_body: '"ok":true' },
    [
      [{ raw: '<html>"ok":true</html>' }, 'accepted'],
      [{ json: { ok: false } }, OUTAGE],
    ],
  ],
  [
    'otlp',
    {},
    [LOGIN_PAGE, [{ raw: 'OK' }, OUTAGE], [{ headers: PROTOBUF, raw: Buffer.from([10, 200, 1, 1]) }, OUTAGE]],
  ],
  [
    's3',
    {},
    [
      LOGIN_PAGE,
      [s3Error(503, 'SlowDown'), OUTAGE],
      [s3Error(500, 'InternalError'), OUTAGE],
      [s3Error(403, 'InvalidAccessKeyId'), NOT_THE_EVENTS],
      [s3Error(404, 'NoSuchBucket'), NOT_THE_EVENTS],
      [s3Error(301, 'PermanentRedirect'), NOT_THE_EVENTS],
      [s3Error(400, 'EntityTooLarge'), THE_EVENTS],
    ],
  ],
  [
    'chat',
    {},
    [
      [{ raw: 'ok\n' }, 'accepted'],
      [{ headers: HTML, raw: 'ok' }, 'accepted'],
      [{ raw: 'accepted' }, OUTAGE],
      [{}, OUTAGE],
      [{ status: 202, raw: 'ok' }, OUTAGE],
    ],
  ],
  [
    'chat',
    { service: 'teams' },
    [
      ...statuses('accepted', 200, 202),
      [{ raw: '1' }, 'accepted'],
      LOGIN_PAGE,
      ...statuses(OUTAGE, 204),
      [{ raw: FAILED_CONNECTOR }, OUTAGE],
    ],
  ],
];

describe.skipIf(!hasOpenssl)('answers (needs openssl on PATH to make certificates)', () => {
  const certificate = useCertificate('IP:127.0.0.1');

  test.each(
    ANSWERS.flatMap(([type, given, answers]) =>
      answers.map(([reply, meaning]) => ({ type, given, reply, meaning })),
    ),
  )('$type $given: $reply means $meaning', async ({ type, given, reply, meaning }) => {
    await using server = await standIn(inTurn(reply), certificate);
    const options = { ...DESTINATIONS[type](server.url), ...given, tls: { ca: certificate.cert } };
    const sender = SENDER_TYPES[type].create(options);
    const event = { ...message(1).event, position: 1 };
    const failure: unknown = await sender
      .send([{ ...message(1), event }])
      .then(() => undefined)
      .catch((error: unknown) => error);
    await sender.close();
    expect(failure instanceof Error ? failure.name : 'accepted').toBe(meaning);
  });
});
