import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { assert, property, string } from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { OutageError } from '../../../src/lib/errors.ts';
import { createSyslogSender, syslogMessage, syslogOptions } from '../../../src/forward/senders/syslog.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { waitFor } from '../../support/wait-for.ts';
import { EVENT_OF_KIND } from '../formats/stored-events.ts';
import { message, messages, storedEvent, SYSLOG_HEADER, syslogTexts } from './messages.ts';
import { listen } from '../../support/listen.ts';
import { tcpServer } from '../../support/tcp-server.ts';

const options = (given: object) =>
  syslogOptions.parse({ host: '127.0.0.1', hostname: 'sink.test', ...given });

/** A sender that is patient with an unknown receiver for 20 ms only. */
const senderTo = (given: object) => createSyslogSender(options(given), 20);

/** A receiver on loopback that keeps the bytes of every connection. */
async function receiver(
  onConnection?: (socket: Socket, index: number) => void,
  options?: Parameters<typeof tcpServer>[1],
) {
  const received: Buffer[] = [];
  const { port, sockets } = await tcpServer((socket, index) => {
    received.push(Buffer.alloc(0));
    socket.on('data', (chunk: Buffer) => {
      received[index] = Buffer.concat([received[index] ?? Buffer.alloc(0), chunk]);
    });
    onConnection?.(socket, index);
  }, options);
  return { port, sockets, texts: () => received.map(String) };
}

const octetCounted = (batch: ReturnType<typeof messages>) =>
  syslogTexts(batch)
    .map((text) => `${Buffer.byteLength(text)} ${text}`)
    .join('');

describe('a message', () => {
  test('has priority, time, host, message type and the event’s marks before its text, and no byte order mark', () => {
    expect(syslogMessage(message(1, 'Grüße'), SYSLOG_HEADER)).toBe(
      '<134>1 2026-05-04T03:02:01.123Z sink.test xiq-sink - AUDIT_LOG_ALL ' +
        '[xiq@32473 event_id="00000000-0000-8000-8000-000000000001" message_type="AUDIT_LOG_ALL" source="default"] ' +
        '{"event_id":"00000000-0000-8000-8000-000000000001","description":"Grüße"}',
    );
  });

  test('has the header of RFC 3164 if that is set, which CEF follows without a tag', () => {
    const old = { ...SYSLOG_HEADER, header: 'rfc3164' } as const;
    expect(syslogMessage(message(1, 'Grüße'), old)).toBe(
      '<134>May  4 03:02:01 sink.test xiq-sink: ' +
        '{"event_id":"00000000-0000-8000-8000-000000000001","description":"Grüße"}',
    );
    const cef = syslogMessage({ event: storedEvent(1), text: 'CEF:0|a|b|c|d|e|3|' }, old);
    expect(cef).toBe('<134>May  4 03:02:01 sink.test CEF:0|a|b|c|d|e|3|');
  });

  test('has facility and severity in its priority', () => {
    const loud = { ...SYSLOG_HEADER, facility: 'local7', severity: 'emerg' };
    expect(syslogMessage(message(1), loud)).toMatch(/^<184>1 /);
  });

  test('has the severity of its event, unless one is set for all, and the enterprise number that is set', () => {
    const { severity: _, ...plain } = SYSLOG_HEADER;
    const priorityOf = (event: StoredEvent) =>
      /^<(\d+)>/.exec(syslogMessage({ event, text: '' }, plain))?.[1];
    const severities = [EVENT_OF_KIND.location, EVENT_OF_KIND.gdprDeletion, EVENT_OF_KIND.alert].map(
      priorityOf,
    );
    // local0 is 16 * 8; info, warning and crit.
    expect(severities).toEqual(['134', '132', '130']);
    const own = options({ transport: 'udp', host: 'sink.test', enterprise_number: 64_999 });
    expect(syslogMessage(message(1), own)).toContain(' [xiq@64999 event_id=');
  });

  test('keeps every source name readable inside its quotes', () => {
    assert(
      property(string(), (source) => {
        const text = syslogMessage({ event: { ...storedEvent(1), source }, text: 'END' }, SYSLOG_HEADER);
        const quoted = /source="((?:[^"\\\]]|\\["\\\]])*)"\] END$/s.exec(text)?.[1];
        expect(quoted?.replaceAll(/\\(["\\\]])/g, '$1')).toBe(source);
      }),
    );
  });
});

describe.each([
  ['a connection for each batch', true],
  ['a kept connection', false],
])('TCP, %s', (_name, confirm) => {
  test('each message goes with its length in bytes before it', async () => {
    const { port, texts } = await receiver();
    const sender = senderTo({ transport: 'tcp', port, confirm });
    const batch = [message(1, 'a\nb'), message(2, 'Grüße 🚀')];
    expect(await sender.send(batch)).toEqual([]);
    await sender.close();
    await expect.poll(() => texts().join('')).toBe(octetCounted(batch));
  });

  test('a receiver that stops reading is an outage', async () => {
    const { port } = await receiver((socket) => socket.pause());
    const sender = senderTo({ transport: 'tcp', port, confirm, timeout_seconds: 0.2 });
    // More than the buffers of both ends hold.
    const flood = [message(1, 'x'.repeat(20_000_000))];
    await expect(sender.send(flood)).rejects.toThrow(OutageError);
  });

  test('a connection that breaks while it is written is an outage, and the batch is sent again', async () => {
    const { port, texts } = await receiver((socket, index) => {
      if (index === 0) socket.once('data', () => socket.resetAndDestroy());
    });
    const sender = senderTo({ transport: 'tcp', port, confirm });
    const large = [message(1, 'x'.repeat(20_000_000))];
    await expect(sender.send(large)).rejects.toThrow(OutageError);
    await sender.send(messages(1));
    await sender.close();
    await waitFor(() => texts()[1]?.endsWith(octetCounted(messages(1))));
  });
});

describe.each([true, false])('TCP, confirm: %s', (confirm) => {
  test.each([
    ['at once', (socket: Socket) => void socket.end()],
    ['with a reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('a receiver that closes %s, before we do, has not accepted the batch', async (_when, close) => {
    const { port } = await receiver(close);
    const sender = senderTo({ transport: 'tcp', port, confirm });
    for (const count of [1, 10, 100]) {
      await expect(sender.send(messages(count))).rejects.toThrow(OutageError);
    }
  });
});

/** Closes connections so long after the first byte. */
const closeAfter = (ms: number) => (socket: Socket) =>
  void socket.once('data', () => void setTimeout(() => socket.end(), ms));

describe('TCP, while it is not known that batches arrive', () => {
  test.each([true, false])('a close that comes later counts, too (confirm: %s)', async (confirm) => {
    const close = confirm ? closeAfter(100) : (socket: Socket) => void setTimeout(() => socket.end(), 100);
    const { port } = await receiver(close);
    const sender = createSyslogSender(options({ transport: 'tcp', port, confirm }), 2_000);
    for (const count of [1, 10]) {
      await expect(sender.send(messages(count))).rejects.toThrow(OutageError);
    }
  });

  test('it is so again after a receiver was slow to close', async () => {
    const { port } = await receiver(
      (socket, index) => {
        if (index === 0) socket.once('end', () => void setTimeout(() => socket.end(), 1_100));
        else closeAfter(100)(socket);
      },
      { allowHalfOpen: true },
    );
    const sender = createSyslogSender(options({ transport: 'tcp', port }), 500);
    expect(await sender.send(messages(1))).toEqual([]);
    await expect(sender.send(messages(1))).rejects.toThrow(OutageError);
  });
});

describe('TCP, a connection for each batch', () => {
  test('is closed only after 20 ms in which the receiver did not', async () => {
    let ended = 0;
    const { port } = await receiver((socket) => void socket.once('end', () => (ended = performance.now())));
    const sender = senderTo({ transport: 'tcp', port });
    const began = performance.now();
    await sender.send(messages(1));
    // A timer may be a millisecond early.
    expect(ended - began).toBeGreaterThan(18);
  });

  test('a batch counts as sent only after the receiver has read to its end and closed the connection', async () => {
    const { promise: readToEnd, resolve: onEnd } = Promise.withResolvers<Socket>();
    const { port, texts } = await receiver((socket) => socket.once('end', () => onEnd(socket)), {
      allowHalfOpen: true,
    });
    const sender = senderTo({ transport: 'tcp', port });
    let isSent = false;
    const sent = sender.send(messages(1)).then(() => (isSent = true));
    const socket = await readToEnd;
    expect(texts()).toEqual([octetCounted(messages(1))]);
    expect(isSent).toBe(false);
    socket.end();
    await sent;
  });
});

describe('TCP, a kept connection', () => {
  test('serves many batches', async () => {
    const { port, texts } = await receiver();
    const sender = senderTo({ transport: 'tcp', port, confirm: false });
    for (const from of [0, 2, 4]) await sender.send(messages(2, from));
    await sender.close();
    await waitFor(() => texts()[0] === octetCounted(messages(6)));
    expect(texts()).toHaveLength(1);
  });

  test.each(['end', 'resetAndDestroy'] as const)(
    'after the receiver’s %s the last batch is sent again, before the next',
    async (close) => {
      const { port, sockets, texts } = await receiver();
      const sender = senderTo({ transport: 'tcp', port, confirm: false });
      await sender.send(messages(2));
      const [socket] = sockets;
      await waitFor(() => texts()[0] === octetCounted(messages(2)));
      socket?.[close]();
      if (socket !== undefined && !socket.closed) await once(socket, 'close');
      // A reset may be noticed by this writing only: it is an outage then, and the batch comes again.
      await sender.send(messages(2, 2)).catch(() => sender.send(messages(2, 2)));
      await sender.close();
      await expect.poll(() => texts()[1]).toBe(octetCounted(messages(4)));
    },
  );
});

describe.skipIf(!hasOpenssl)('TLS (needs openssl on PATH to make certificates)', () => {
  const server = useCertificate('DNS:siem.test');
  const client = useCertificate('DNS:sink.test');

  const secure = () => ({
    cert: server.cert,
    key: server.key,
    ca: client.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const trust = () => ({
    ca: server.cert,
    server_name: 'siem.test',
    certificate: client.cert,
    key: client.key,
  });

  test.each([true, false])(
    'messages arrive, with our own certificate shown (confirm: %s)',
    async (confirm) => {
      const { port, texts } = await receiver(undefined, { secure: secure() });
      const sender = senderTo({ transport: 'tls', port, confirm, tls: trust() });
      for (const from of [0, 500]) await sender.send(messages(500, from));
      await sender.close();
      await expect.poll(() => texts().join('')).toBe(octetCounted(messages(1000)));
    },
  );

  test('the wait for a close is several times as long as it took to connect', async () => {
    const times: number[] = [];
    const secured = tls.createServer({ cert: server.cert, key: server.key }, (socket) => {
      for (const event of ['data', 'end']) socket.once(event, () => times.push(performance.now()));
    });
    // A handshake that takes 60 ms stands for a receiver that is far away.
    const slow = net.createServer((socket) => void setTimeout(() => secured.emit('connection', socket), 60));
    onTestFinished(() => void slow.close());
    const port = await listen(slow);
    const { ca, server_name } = trust();
    const sender = senderTo({ transport: 'tls', port, tls: { ca, server_name } });
    await sender.send(messages(1));
    const [read = 0, ended = 0] = times;
    expect(ended - read).toBeGreaterThan(3 * 60);
  });

  test('a receiver that does not take our certificate is noticed', async () => {
    const { port } = await receiver(undefined, { secure: secure() });
    const { ca, server_name } = trust();
    const sender = senderTo({ transport: 'tls', port, tls: { ca, server_name } });
    await expect(sender.send(messages(1))).rejects.toThrow(OutageError);
  });
});

describe('UDP', () => {
  async function datagrams() {
    const socket = createSocket('udp4');
    const texts: string[] = [];
    socket.on('message', (bytes) => texts.push(bytes.toString()));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return { port: socket.address().port, texts, socket };
  }

  test('a host on which nobody listens is an outage; the batch before is sent again', async () => {
    const { port, texts, socket } = await datagrams();
    const sender = senderTo({ transport: 'udp', port });
    await sender.send(messages(1));
    await waitFor(() => texts.length === 1);
    socket.close();
    await expect(sender.send(messages(10, 1))).rejects.toThrow(OutageError);
    const again = createSocket('udp4');
    onTestFinished(() => void again.close());
    again.on('message', (bytes) => texts.push(bytes.toString()));
    again.bind(port, '127.0.0.1');
    await once(again, 'listening');
    await sender.send(messages(10, 1));
    await waitFor(() => texts.length === 12);
    expect(texts.slice(1)).toEqual(syslogTexts(messages(11)));
    await sender.close();
  });
});
