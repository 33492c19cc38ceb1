import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Message, Sender } from '../../../src/forward/sender.ts';
import { RELP_WINDOW } from '../../../src/forward/senders/relp.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { freePort } from '../../support/free-port.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { findReceiver } from './find-program.ts';
import { FORMATS_UNDER_TEST } from './formats-under-test.ts';
import { hardMessages } from './hard-texts.ts';
import type { Receiver } from './receiver.ts';
import { missingOfRsyslog, startRelpReceiver, type RelpPorts } from './rsyslog.ts';
import { sendAll } from './send-all.ts';

/** For each format. */
const EVENTS = Number(process.env['SIEM_TEST_EVENTS'] ?? 10_000);
const BATCH = 500;
/** `RELP_KILLS=50 npm run test:suite siem` kills more often. */
const KILLS = Number(process.env['RELP_KILLS'] ?? 5);
const EVENTS_PER_KILL = 2_000;

const idsOf = (messages: readonly Message[]) => messages.map(({ event }) => event.eventId);

const { program, missing } = findReceiver('rsyslogd', missingOfRsyslog);
const reason = missing === undefined ? '' : ` (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(`rsyslog as RELP receiver${reason}`, () => {
  const directory = useDirectory();
  const certificates = { server: useCertificate('IP:127.0.0.1'), client: useCertificate('DNS:sink.test') };
  let receiver: Receiver<keyof RelpPorts>;

  beforeAll(async () => {
    const ports = { tcp: await freePort(), tls: await freePort() };
    receiver = await startRelpReceiver(program, directory, ports, certificates);
  });
  afterAll(() => receiver.stop());

  function senderOf(type: 'relp' | 'relp+tls'): Sender {
    const given = { host: '127.0.0.1', hostname: 'sink.test' };
    const { server, client } = certificates;
    const tls = { ca: server.cert, certificate: client.cert, key: client.key };
    const sender =
      type === 'relp'
        ? SENDER_TYPES.relp.create({ ...given, port: receiver.ports.tcp })
        : SENDER_TYPES['relp+tls'].create({ ...given, port: receiver.ports.tls, tls });
    onTestFinished(() => sender.close());
    return sender;
  }

  describe.each(FORMATS_UNDER_TEST)('$name', (format) => {
    test.each(['relp', 'relp+tls'] as const)(
      'every event arrives once, in order, as it is: %s',
      async (type) => {
        const messages = hardMessages(EVENTS, format, true);
        const since = receiver.received().length;
        expect(await sendAll(senderOf(type), messages, BATCH)).toMatchObject({ outages: 0 });

        // An accepted event is written: there is nothing to wait for.
        const received = receiver.received().slice(since);
        expect(received.map(({ event_id }) => event_id)).toEqual(idsOf(messages));
        expect(received.map(({ text }) => format.read(text))).toEqual(
          messages.map(({ event }) => format.expected(event)),
        );
        expect(received[0]).toMatchObject({
          host: 'sink.test',
          message_type: 'AUDIT_LOG_ALL',
          priority: '134',
        });
      },
    );
  });

  test.for(['relp', 'relp+tls'] as const)(
    `nothing is lost and the order is kept when it is killed ${KILLS} times: %s`,
    { timeout: KILLS * 10_000 + 30_000 },
    async (type, { annotate }) => {
      const [format] = FORMATS_UNDER_TEST;
      if (format === undefined) throw new Error('there is no format');
      // A long line goes to the file in several writes: a kill between two of them would leave half a line there.
      const messages = hardMessages((KILLS + 1) * EVENTS_PER_KILL, format, false);
      const since = receiver.received().length;
      const sending = sendAll(senderOf(type), messages, BATCH);
      for (let kill = 1; kill <= KILLS; kill++) {
        await waitFor(() => receiver.received().length - since >= kill * EVENTS_PER_KILL);
        await receiver.kill();
        await receiver.start();
      }
      const { outages } = await sending;

      const received = receiver
        .received()
        .slice(since)
        .map(({ event_id }) => event_id);
      expect([...new Set(received)]).toEqual(idsOf(messages));
      const doubles = received.length - messages.length;
      expect(outages).toBeGreaterThanOrEqual(KILLS);
      expect(doubles).toBeLessThanOrEqual(KILLS * RELP_WINDOW);
      await annotate(`${KILLS} kills, ${outages} outages, ${messages.length} events, ${doubles} twice`);
    },
  );
});
