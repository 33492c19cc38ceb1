import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Message, Sender } from '../../../src/forward/sender.ts';
import { createSyslogSender, syslogOptions } from '../../../src/forward/senders/syslog.ts';
import { freePort } from '../../support/free-port.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { findReceiver } from './find-program.ts';
import { FORMATS_UNDER_TEST, type FormatUnderTest } from './formats-under-test.ts';
import { hardMessages } from './hard-texts.ts';
import type { Receiver } from './receiver.ts';
import { missingOfRsyslog, startRsyslog } from './rsyslog.ts';
import { sendAll } from './send-all.ts';
import { startSyslogNg } from './syslog-ng.ts';

/** For each transport. */
const EVENTS = Number(process.env['SIEM_TEST_EVENTS'] ?? 10_000);
const BATCH = 500;
/** UDP does not wait for its receiver: so many fit into a socket's usual receive buffer of 208 kB. */
const UDP_BATCH = 50;

const RECEIVERS = {
  rsyslogd: { start: startRsyslog, missingOf: missingOfRsyslog },
  'syslog-ng': { start: startSyslogNg, missingOf: () => undefined },
};

/** A sender to a receiver's port, whose transport it names. */
function senderTo({ ports }: Receiver, port: keyof Receiver['ports'], more: object): Sender {
  const given = { host: '127.0.0.1', port: ports[port], hostname: 'sink.test', ...more };
  return createSyslogSender(syslogOptions.parse(given), 20);
}

describe.each(Object.entries(RECEIVERS))('%s', (name, { start, missingOf }) => {
  const { program, missing } = findReceiver(name, missingOf);
  const reason = missing === undefined ? '' : ` (skipped: ${missing})`;

  describe.skipIf(missing !== undefined)(`as receiver${reason}`, () => {
    const directory = useDirectory();
    const certificates = { server: useCertificate('IP:127.0.0.1'), client: useCertificate('DNS:sink.test') };
    let receiver: Receiver;

    beforeAll(async () => {
      const [udp, tcp, lf, tls] = [await freePort(), await freePort(), await freePort(), await freePort()];
      receiver = await start(program, directory, { udp, tcp, lf, tls }, certificates);
    });
    afterAll(() => receiver.stop());

    const tls = () => ({
      ca: certificates.server.cert,
      certificate: certificates.client.cert,
      key: certificates.client.key,
    });

    /** The messages' own lines of what the receiver has from its `since`th on, once all are there. */
    async function arrived(messages: readonly Message[], since: number) {
      const ids = new Set(messages.map(({ event }) => event.eventId));
      return await waitFor(() => {
        const received = receiver.received().slice(since);
        const own = received.filter(({ event_id }) => ids.has(event_id));
        return new Set(own.map(({ event_id }) => event_id)).size === ids.size ? own : undefined;
      });
    }

    const fields = (format: FormatUnderTest, messages: readonly Message[]) =>
      new Map(messages.map(({ event }) => [event.eventId, format.expected(event)]));

    const ways = [
      ['udp', 'udp', { transport: 'udp' }],
      ['TCP, a connection for each batch', 'tcp', { transport: 'tcp' }],
      ['TCP, a kept connection', 'tcp', { transport: 'tcp', confirm: false }],
      ['TCP, lines', 'lf', { transport: 'tcp', framing: 'lf' }],
      ['TLS, a connection for each batch', 'tls', { transport: 'tls' }],
      ['TLS, a kept connection', 'tls', { transport: 'tls', confirm: false }],
    ] as const;

    describe.each(FORMATS_UNDER_TEST)('$name', (format) => {
      test.each(ways.filter(([, port]) => format.isOneLine || port !== 'lf'))(
        'every event arrives as it is: %s',
        async (_way, port, given) => {
          const messages = hardMessages(EVENTS, format, port !== 'udp');
          const sender = senderTo(receiver, port, port === 'tls' ? { ...given, tls: tls() } : given);
          const size = port === 'udp' ? UDP_BATCH : BATCH;
          const since = receiver.received().length;
          for (let at = 0; at < messages.length; at += size) {
            const batch = messages.slice(at, at + size);
            expect(await sender.send(batch)).toEqual([]);
            if (port === 'udp') await arrived(batch, since + at);
          }
          await sender.close();

          const received = await arrived(messages, since);
          expect(received).toHaveLength(messages.length);
          expect(new Map(received.map((one) => [one.event_id, format.read(one.text)]))).toEqual(
            fields(format, messages),
          );
          expect(received[0]).toMatchObject({
            host: 'sink.test',
            message_type: 'AUDIT_LOG_ALL',
            priority: '134',
          });
        },
      );
    });

    test('nothing is missing after the receiver was away for a while', async () => {
      const [format] = FORMATS_UNDER_TEST;
      if (format === undefined) throw new Error('there is no format');
      const messages = hardMessages(EVENTS, format, false);
      const sender = senderTo(receiver, 'tcp', { transport: 'tcp' });
      onTestFinished(() => sender.close());
      const half = messages.length / 2;
      const progress = { sent: 0, outages: 0 };
      await sendAll(sender, messages.slice(0, half), 50);
      // What a receiver has read and not yet written when it ends may be lost with it: not the sender's matter.
      await arrived(messages.slice(0, half), 0);
      await receiver.stop();
      const restarted = waitFor(() => progress.outages > 0).then(() => receiver.start());
      await sendAll(sender, messages.slice(half), 50, progress);
      await restarted;
      expect((await arrived(messages, 0)).length).toBeGreaterThanOrEqual(messages.length);
    });
  });
});
