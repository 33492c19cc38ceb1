import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createElasticsearchSender,
  elasticsearchOptions,
} from '../../../src/forward/senders/elasticsearch.ts';
import { acceptsAgain, sendBisecting } from '../../../src/forward/send-batch.ts';
import { BatchRefusedError } from '../../../src/forward/sender.ts';
import { messages, storedEvent, untilTestEnds } from './messages.ts';
import { standIn, type Received, type Script, type StandIn } from '../../support/stand-in.ts';

const senderTo = ({ url }: StandIn, more: object = {}) =>
  untilTestEnds(createElasticsearchSender(elasticsearchOptions.parse({ url, index: 'logs', ...more })));

const Action = z.object({ create: z.object({ _index: z.string(), _id: z.string() }) });

/** The ids that a bulk request creates, in order. */
function idsIn({ body }: Received): string[] {
  const lines = body.split('\n').slice(0, -1);
  return lines.filter((_, at) => at % 2 === 0).map((line) => Action.parse(JSON.parse(line)).create._id);
}

const idOf = (number: number) => storedEvent(number).eventId;

/** Answers every item by its id and how often it was seen before. */
function byItem(resultOf: (id: string, before: number) => object): Script {
  const seen = new Map<string, number>();
  return (request) => ({
    json: {
      items: idsIn(request).map((id) => {
        const before = seen.get(id) ?? 0;
        seen.set(id, before + 1);
        return { create: resultOf(id, before) };
      }),
    },
  });
}

const created = byItem(() => ({ status: 201 }));
const refused = (status: number, type: string) => ({ status, error: { type, reason: 'for a reason' } });

test('events are created under their ids, with what proves who we are', async () => {
  await using server = await standIn(created);
  const sender = senderTo(server, { api_key: 'the-key' });
  const batch = messages(2);
  expect(await sender.send(batch)).toEqual([]);
  expect(server.received[0]?.url).toMatch(/^\/_bulk\?/);
  expect(server.received[0]?.headers).toMatchObject({
    authorization: 'ApiKey the-key',
    'content-type': 'application/x-ndjson',
  });
  expect(server.received[0]?.body).toBe(
    batch
      .map(({ event, text }) => `{"create":{"_index":"logs","_id":"${event.eventId}"}}\n${text}\n`)
      .join(''),
  );
});

test('or with user name and password', async () => {
  await using server = await standIn(created);
  const sender = senderTo(server, { username: 'elastic', password: 'pass:word' });
  await sender.send(messages(1));
  expect(server.received[0]?.headers.authorization).toBe(`Basic ${btoa('elastic:pass:word')}`);
});

test('each item counts for itself: there already, too busy, unreadable', async () => {
  await using server = await standIn(
    byItem((id, before) => {
      if (id === idOf(1)) return refused(409, 'version_conflict_engine_exception');
      if (id === idOf(2) && before === 0) return refused(429, 'circuit_breaking_exception');
      if (id === idOf(3)) return refused(400, 'document_parsing_exception');
      if (id === idOf(4) && before < 2) return refused(503, 'unavailable_shards_exception');
      return { status: 201 };
    }),
  );
  const sender = senderTo(server);
  expect(await sender.send(messages(6))).toEqual([
    { index: 3, reason: '400 document_parsing_exception: for a reason' },
  ]);
  expect(server.received.slice(1).map(idsIn)).toEqual([[idOf(2), idOf(4)], [idOf(4)]]);
  // It has read the event that it has; the one that it cannot read says nothing of others.
  const again = messages(6).map((message) => acceptsAgain(sender, message));
  expect(await Promise.all(again)).toEqual([true, true, true, false, true, true]);
});

test('items that stay too busy make the batch wait', async () => {
  await using server = await standIn(byItem(() => refused(429, 'es_rejected_execution_exception')));
  const sender = senderTo(server);
  const began = performance.now();
  await expect(sender.send(messages(2))).rejects.toThrow(/is overloaded and did not accept 2 of 2 events$/);
  expect(server.received).toHaveLength(4);
  expect(performance.now() - began).toBeGreaterThan(1_300);
});

test('an answer that is too long to read is asked for again in halves', async () => {
  const reason = 'x'.repeat(3_000);
  await using server = await standIn(byItem(() => ({ status: 400, error: { type: 'mapping', reason } })));
  const sender = senderTo(server);
  const batch = messages(500);
  await expect(sender.send(batch)).rejects.toThrow(BatchRefusedError);
  const { settled, rejected } = await sendBisecting(sender, batch);
  expect(settled).toBe(500);
  expect(rejected.map(({ message }) => message)).toEqual(batch);
  expect(server.received.map((request) => idsIn(request).length)).toEqual([500, 500, 250, 250]);
});
