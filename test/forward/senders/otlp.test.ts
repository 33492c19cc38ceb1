import { expect, test } from 'vitest';
import { createFormat, type FormatName } from '../../../src/forward/formats/formats.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';
import { sendBisecting } from '../../../src/forward/send-batch.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { readLogs } from '../../support/otlp-receiver.ts';
import { EVENT_OF_KIND } from '../formats/stored-events.ts';
import { messages, untilTestEnds } from './messages.ts';
import { inTurn, standIn, type StandIn } from '../../support/stand-in.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };

const senderTo = ({ url }: StandIn, format: FormatName = 'otlp', more: object = {}) =>
  untilTestEnds(
    SENDER_TYPES.otlp.create({ url: `${url}/otlp`, headers: { 'x-key': 'a-secret' }, ...more }, format),
  );

/** The events as log records, as a receiver reads them. */
async function recordsOf(events: readonly StoredEvent[], format: FormatName = 'otlp', more: object = {}) {
  await using server = await standIn(inTurn({ headers: PROTOBUF }));
  const sender = senderTo(server, format, more);
  const write = createFormat(format, DEFAULT_REDACTION_RULES);
  expect(await sender.send(events.map((event) => ({ event, text: write(event) })))).toEqual([]);
  const [request] = server.received;
  expect(request?.url).toBe('/otlp/v1/logs');
  expect(request?.headers).toMatchObject({ ...PROTOBUF, 'content-encoding': 'gzip', 'x-key': 'a-secret' });
  return readLogs(request?.bytes ?? Buffer.alloc(0));
}

test('an event is a log record, with the names of the semantic conventions', async () => {
  const { configuration, accountingStop } = EVENT_OF_KIND;
  const [change, session] = await recordsOf([configuration, accountingStop], 'otlp', {
    service_name: 'audit',
  });
  const nanoseconds = (time: string) => BigInt(Date.parse(time)) * 1_000_000n;
  expect(change).toMatchObject({
    service: 'audit',
    time: nanoseconds(configuration.occurredAt),
    observed: nanoseconds(configuration.receivedAt),
    severity: 13,
    eventName: 'xiq.configuration_changed',
    body: 'User admin@example.com logged in',
    attributes: {
      'log.record.uid': configuration.eventId,
      'user.id': '2345678',
      'xiq.device_count': 2,
    },
  });
  expect(session?.attributes).toMatchObject({ 'client.address': '10.1.2.3', 'session.id': '5F00-AB' });
});

test('in another format, the text is the body', async () => {
  const [record] = await recordsOf([EVENT_OF_KIND.login], 'ocsf');
  expect(JSON.parse(record?.body ?? '')).toMatchObject({ class_uid: 3002 });
  expect(record?.attributes).toEqual({ 'log.record.uid': EVENT_OF_KIND.login.eventId });
});

/** ExportLogsServiceResponse, with at most 2^14 - 1 rejected records. */
function partialSuccess(rejected: number, message = 'too old'): Buffer {
  const partial = [8, (rejected % 128) + 128, Math.floor(rejected / 128), 18, message.length];
  return Buffer.concat([
    Buffer.from([10, partial.length + message.length, ...partial]),
    Buffer.from(message),
  ]);
}

test.each([
  ['protobuf', 3, { headers: PROTOBUF, raw: partialSuccess(3) }],
  ['protobuf, of many', 200, { headers: PROTOBUF, raw: partialSuccess(200) }],
  [
    'JSON',
    3,
    {
      headers: { 'content-type': 'application/json' },
      json: { partialSuccess: { rejectedLogRecords: '3', errorMessage: 'too old' } },
    },
  ],
])('records that are all rejected, in %s, are set aside with the reason', async (_form, count, reply) => {
  await using server = await standIn(inTurn(reply));
  const sender = senderTo(server, 'json');
  const refusals = await sender.send(messages(count));
  expect(refusals.map(({ index }) => index)).toEqual(messages(count).map((_one, index) => index));
  expect(refusals[0]?.reason).toMatch(/^rejected by otlp at http.*: too old$/);
});

test('of a batch that is rejected in part, the rejected record is found by dividing', async () => {
  const batch = messages(5);
  const poison = batch[3];
  await using server = await standIn(({ bytes }) => {
    const ids = readLogs(bytes).map(({ attributes }) => attributes['log.record.uid']);
    const rejected = ids.filter((id) => id === poison?.event.eventId).length;
    return { headers: PROTOBUF, raw: partialSuccess(rejected) };
  });
  const sender = senderTo(server, 'json');
  const { settled, rejected } = await sendBisecting(sender, batch);
  expect(settled).toBe(5);
  expect(rejected.map((one) => one.message)).toEqual([poison]);
});
