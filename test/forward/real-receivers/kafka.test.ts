import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { sendBisecting } from '../../../src/forward/send-batch.ts';
import { EndpointRefusedError, type Message } from '../../../src/forward/sender.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { BatchStore } from '../../../src/handlers/store-batch.ts';
import { addDestination } from '../../../src/store/destinations/destinations.ts';
import { createTestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { PROGRAM, SECRET } from '../../support/program.ts';
import { waitFor } from '../../support/wait-for.ts';
import { storedEvent } from '../senders/messages.ts';
import { FORMATS_UNDER_TEST } from './formats-under-test.ts';
import { hardText } from './hard-texts.ts';
import { compileCluster, startCluster, type Consumed, type KafkaCluster } from './kafka-cluster.ts';

/** For each format. */
const EVENTS = Number(process.env['SIEM_TEST_EVENTS'] ?? 10_000);
const BATCH = 500;
/** `KAFKA_KILLS=20 npm run test:suite siem` cuts and kills more often. */
const KILLS = Number(process.env['KAFKA_KILLS'] ?? 3);
const EVENTS_PER_KILL = 1_000;
const TOPIC = 'events';
const SOURCES = ['berlin', 'paris', 'rome'];

const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-kafka-'));
afterAll(() => rmSync(directory, { recursive: true }));
const compiled = compileCluster(directory);
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
      const sender = senderTo(cluster);
      let sent = 0;
      let outages = 0;
      const sending = (async () => {
        for (let at = 0; at < messages.length; at += 100) {
          await waitFor(() =>
            sender.send(messages.slice(at, at + 100)).then(
              () => true,
              (error: unknown) => {
                expect(error).toBeInstanceOf(OutageError);
                outages++;
                return false;
              },
            ),
          );
          sent = at + 100;
        }
      })();
      const distinct = () => new Set(consumed.map(idOf)).size;
      for (let kill = 1; kill <= KILLS; kill++) {
        await waitFor(() => sent >= kill * EVENTS_PER_KILL);
        await cluster.command('down');
        // Every other time the attempts of one call are over before the broker is back.
        const before = outages;
        if (kill % 2 === 1) await waitFor(() => outages > before);
        await cluster.command('up');
      }
      await sending;
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

  test('an event that is too large is found and set aside, and the others arrive', async () => {
    const cluster = await start();
    const consumed = cluster.consume(TOPIC);
    const sender = senderTo(cluster);
    const messages = messagesOf(4, plain);
    // The whole, its first half, and the first event: 10 is MESSAGE_TOO_LARGE.
    await cluster.command('fail 0 3 10');
    const { rejected } = await sendBisecting(sender, messages);
    expect(rejected).toMatchObject([{ message: messages[0] }]);
    expect(rejected[0]?.reason).toMatch(/MESSAGE_TOO_LARGE/);
    await waitFor(() => consumed.length === 3);
    expect(new Set(consumed.map(idOf))).toEqual(new Set(messages.slice(1).map(({ event }) => event.eventId)));
  });

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

  test(
    'nothing is lost and the order is kept when the forwarder is killed',
    async ({ annotate }) => {
      const cluster = await start();
      const consumed = cluster.consume(TOPIC);
      await cluster.command('rtt 50');
      const database = await createTestDatabase();
      onTestFinished(() => database.drop());
      const { db } = database;
      const file = path.join(directory, 'settings.yaml');
      const destination = { name: 'siem', type: 'kafka', brokers: [cluster.broker], topic: TOPIC };
      // JSON is YAML.
      await writeFile(file, JSON.stringify({ destinations: [{ ...destination, batch: { events: 10 } }] }));
      await addDestination(db, 'siem', 0);
      const store = new BatchStore(db, pino({ level: 'silent' }), new AbortController().signal);
      const count = 100 * (KILLS + 1);
      for (let userId = 0; userId < count; userId += 1) {
        await store.add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userId })])] });
      }

      const spawnForwarder = (): ChildProcess =>
        spawn(PROGRAM, ['serve', '--role', 'forward'], {
          env: {
            PATH: process.env['PATH'],
            PORT: '0',
            ADMIN_PORT: '0',
            HOST: '127.0.0.1',
            DATABASE_URL: database.databaseUrl,
            DATA_DIR: directory,
            WEBHOOK_SECRET: SECRET,
            XIQ_SINK_CONFIG: file,
          },
          stdio: 'ignore',
        });
      const numbers = () => [...new Set(consumed.map(({ text }) => UserId.parse(JSON.parse(text)).user_id))];
      for (let kill = 1; kill <= KILLS + 1; kill++) {
        const forwarder = spawnForwarder();
        onTestFinished(() => void forwarder.kill('SIGKILL'));
        await waitFor(() => numbers().length >= Math.min(kill * 70, count) || kill > KILLS);
        if (kill > KILLS) break;
        forwarder.kill('SIGKILL');
        await once(forwarder, 'exit');
        // Passes the time for which a process that was killed still counts as the one that sends.
        await sql`update destinations set lease_until = now() - interval '1 s'`.execute(db);
      }
      await waitFor(() => numbers().length === count);
      expect(numbers()).toEqual(Array.from({ length: count }, (_, number) => number));
      const copies = consumed.length - count;
      expect(copies).toBeLessThanOrEqual(10 * KILLS);
      await annotate(`${KILLS} kills, ${count} events, ${copies} copies`);
    },
    KILLS * 30_000 + 60_000,
  );
});

const UserId = z.object({ user_id: z.coerce.number() });
