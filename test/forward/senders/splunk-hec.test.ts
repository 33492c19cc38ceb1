import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MESSAGE_TYPES } from '../../../src/events/domain.ts';
import {
  createSplunkHecSender,
  SOURCETYPES,
  splunkHecOptions,
} from '../../../src/forward/senders/splunk-hec.ts';
import { message, messages, untilTestEnds } from './messages.ts';
import { inTurn, standIn, type Script, type StandIn } from '../../support/stand-in.ts';

const TOKEN = '00000000-0000-0000-0000-000000000001';
const senderTo = ({ url }: StandIn, more: object = {}) =>
  untilTestEnds(createSplunkHecSender(splunkHecOptions.parse({ url, token: TOKEN, ...more })));

const Envelope = z.object({
  time: z.number(),
  sourcetype: z.string(),
  event: z.object({ event_id: z.string() }),
});

const envelopesIn = (body: string) => body.split('\n').map((line) => Envelope.parse(JSON.parse(line)));

test('events go out as envelopes, one after another, gzipped', async () => {
  await using server = await standIn(inTurn({ json: { text: 'Success', code: 0 } }));
  const sender = senderTo(server, { index: 'net', host: 'sink', source: 'here' });
  expect(await sender.send(messages(2))).toEqual([]);
  const [request] = server.received;
  expect(request?.url).toBe('/services/collector/event');
  expect(request?.headers).toMatchObject({ authorization: `Splunk ${TOKEN}`, 'content-encoding': 'gzip' });
  expect(request?.body.split('\n').map((line): unknown => JSON.parse(line))).toEqual(
    messages(2).map(({ text }) => ({
      time: 1_777_863_721.123,
      host: 'sink',
      source: 'here',
      sourcetype: 'xiq:audit',
      index: 'net',
      event: JSON.parse(text) as unknown,
    })),
  );
});

test.each([
  [{}, MESSAGE_TYPES.map((messageType) => SOURCETYPES[messageType])],
  [{ sourcetype: 'network' }, MESSAGE_TYPES.map(() => 'network')],
])('with the options %j the source types of the message types are %j', async (more, expected) => {
  await using server = await standIn(inTurn({ json: { text: 'Success', code: 0 } }));
  const sender = senderTo(server, more);
  const { event, text } = message(1);
  await sender.send(MESSAGE_TYPES.map((messageType) => ({ event: { ...event, messageType }, text })));
  const sent = server.received.flatMap(({ body }) => envelopesIn(body)).map(({ sourcetype }) => sourcetype);
  expect(sent).toEqual(expected);
});

test('every message type has a source type of its own', () => {
  expect(new Set(Object.values(SOURCETYPES)).size).toBe(MESSAGE_TYPES.length);
});

test('a request has at most 1 MB, and none is missing', async () => {
  await using server = await standIn(inTurn({ json: { text: 'Success', code: 0 } }));
  const sender = senderTo(server);
  const large = Array.from({ length: 50 }, (_, number) => message(number, 'x'.repeat(60_000)));
  await sender.send(large);
  expect(server.received).toHaveLength(4);
  for (const { body } of server.received) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_000_000);
  const arrived = server.received.flatMap(({ body }) => envelopesIn(body)).map(({ event }) => event.event_id);
  expect(arrived).toEqual(large.map(({ event }) => event.eventId));
});

describe('with acknowledgement', () => {
  /** Acknowledges at the nth time of asking. */
  const acknowledgingAt = (nth: number): Script => {
    let asked = 0;
    return ({ url, body }) => {
      if (url !== '/services/collector/ack') return { json: { text: 'Success', code: 0, ackId: 7 } };
      expect(JSON.parse(body)).toEqual({ acks: [7] });
      return { json: { acks: { 7: ++asked >= nth } } };
    };
  };

  test('a batch is taken when the indexers have it', async () => {
    await using server = await standIn(acknowledgingAt(2));
    const sender = senderTo(server, { acknowledge: true });
    await sender.send(messages(1));
    expect(server.received).toHaveLength(3);
    const channels = new Set(server.received.map(({ headers }) => headers['x-splunk-request-channel']));
    expect([...channels]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });
});
