import { describe, expect, onTestFinished, test } from 'vitest';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { EndpointRefusedError, type Message } from '../../../src/forward/sender.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { storedEvent } from '../senders/messages.ts';
import { FORMATS_UNDER_TEST } from './formats-under-test.ts';
import { hardText } from './hard-texts.ts';
import { compileCluster, startCluster, type Consumed, type KafkaCluster } from './kafka-cluster.ts';
import { sendAll } from './send-all.ts';

/** For each format. */
const EVENTS = Number(process.env['SIEM_TEST_EVENTS'] ?? 10_000);
const BATCH = 500;
/** `KAFKA_KILLS=20 npm run test:suite siem` cuts more often. */
const KILLS = Number(process.env['KAFKA_KILLS'] ?? 3);
const EVENTS_PER_KILL = 1_000;
const TOPIC = 'events';
const SOURCES = ['berlin', 'paris', 'rome'];

const compiled = compileCluster(useDirectory());
const reason = 'missing' in compiled ? ` (skipped: ${compiled.missing})` : '';

async function start(): Promise<KafkaCluster> {
  const cluster = await startCluster('program' in compiled ? compiled.program : '');
  await cluster.command(`topic ${TOPIC} 4`);
  return cluster;
}

function senderTo({ broker }: KafkaCluster, more: object = {}) {
  const sender = SENDER_TYPES.kafka.create({ brokers: [broker], topic: TOPIC, ...more });
  onTestFinished(() => sender.close());
  return sender;
}

function messagesOf(count: number, write: (event: Message['event']) => string): Message[] {
  return Array.from({ length: count }, (_, index) => {
    const source = SOURCES[index % SOURCES.length] ?? '';
    const event = { ...storedEvent(index, hardText(index, false)), source };
    return { event, text: write(event) };
  });
}

const plain = ({ eventId }: Message['event']) => JSON.stringify({ event_id: eventId });
const idOf = ({ headers }: Consumed) => /event_id=([^,]*)/.exec(headers)?.[1];
const sentBy = (messages: readonly Message[], source: string) =>
  messages.filter(({ event }) => event.source === source).map(({ event }) => event.eventId);
const consumedOf = (consumed: readonly Consumed[], source: string) =>
  consumed.filter(({ key }) => key === source);

describe.skipIf('missing' in compiled)(`Kafka, played by librdkafka${reason}`, () => {
  test.each(FORMATS_UNDER_TEST.filter(({ isOneLine }) => isOneLine))(
    'every event arrives once, in the order of its source, as it is: $name',
    async (format) => {
      const cluster = await start();
      const consumed = cluster.consume(TOPIC);
      const messages = messagesOf(EVENTS, format.write);
      const sender = senderTo(cluster);
      for (let at = 0; at < messages.length; at += BATCH) {
        expect(await sender.send(messages.slice(at, at + BATCH))).toEqual([]);
      }
      await waitFor(() => consumed.length >= EVENTS);
      for (const source of SOURCES) {
        const own = consumedOf(consumed, source);
        expect(own.map(idOf)).toEqual(sentBy(messages, source));
        expect(new Set(own.map(({ partition }) => partition)).size).toBe(1);
      }
      const texts = new Map(consumed.map((one) => [idOf(one), one.text]));
      for (const { event } of messages) {
        expect(format.read(texts.get(event.eventId) ?? '')).toEqual(format.expected(event));
      }
      expect(consumed[0]?.headers).toMatch(/,message_type=AUDIT_LOG_ALL$/);
    },
  );

  test.each(['gzip', 'zstd', 'lz4', 'snappy', 'none'])(
    'consumers can read compression %s',
    async (compression) => {
      const cluster = await start();
      const consumed = cluster.consume(TOPIC);
      const messages = messagesOf(300, plain);
      await senderTo(cluster, { compression }).send(messages);
      await waitFor(() => consumed.length === 300);
      expect(new Set(consumed.map(({ text }) => text))).toEqual(new Set(messages.map(({ text }) => text)));
    },
  );

  test(
    'nothing is lost and the order is kept when the broker goes away again and again',
    async ({ annotate }) => {
      const cluster = await start();
      const consumed = cluster.consume(TOPIC);
      const messages = messagesOf((KILLS + 1) * EVENTS_PER_KILL, plain);
      // Most cuts come after the broker has stored a batch and before its answer.
      await cluster.command('rtt 50');
      const progress = { sent: 0, outages: 0 };
      const sending = sendAll(senderTo(cluster), messages, 100, progress);
      const distinct = () => new Set(consumed.map(idOf)).size;
      for (let kill = 1; kill <= KILLS; kill++) {
        await waitFor(() => progress.sent >= kill * EVENTS_PER_KILL);
        await cluster.command('down');
        // Every other time the attempts of one call are over before the broker is back.
        const before = progress.outages;
        if (kill % 2 === 1) await waitFor(() => progress.outages > before);
        await cluster.command('up');
      }
      const { outages } = await sending;
      await waitFor(() => distinct() === messages.length);
      for (const source of SOURCES) {
        const ids = consumedOf(consumed, source).map(idOf);
        expect([...new Set(ids)]).toEqual(sentBy(messages, source));
      }
      expect(outages).toBeGreaterThanOrEqual(KILLS / 2);
      await annotate(`${KILLS} cuts, ${outages} outages, ${consumed.length - messages.length} copies`);
    },
    KILLS * 20_000 + 60_000,
  );

  test.each([
    ['TOPIC_AUTHORIZATION_FAILED', 29, EndpointRefusedError],
    ['Unknown topic events', 3, EndpointRefusedError],
    ['LEADER_NOT_AVAILABLE', 5, OutageError],
  ])(
    'a topic with %s fails with its own kind of error, and the next attempt works',
    async (id, code, kind) => {
      const cluster = await start();
      const sender = senderTo(cluster);
      await cluster.command(`topic-error ${TOPIC} ${code}`);
      const failure = await sender.send(messagesOf(2, plain)).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(kind);
      expect(describeError(failure)).toContain(id);
      await cluster.command(`topic-error ${TOPIC} 0`);
      expect(await sender.send(messagesOf(2, plain))).toEqual([]);
    },
  );
});
