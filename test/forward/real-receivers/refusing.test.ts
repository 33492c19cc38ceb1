import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { OutageError } from '../../../src/lib/errors.ts';
import type { Sender } from '../../../src/forward/sender.ts';
import { createSyslogSender, syslogOptions } from '../../../src/forward/senders/syslog.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { messages } from '../senders/messages.ts';
import { listen } from '../../support/listen.ts';
import { findProgram } from './find-program.ts';
import { startHaproxy } from './haproxy.ts';
import type { Receiver } from './receiver.ts';
import { startStrictRsyslog } from './rsyslog.ts';

/** How often each batch is tried. `HAPROXY_TRIES=100 npm run test:suite siem` also prints a table of the results. */
const TRIES = Number(process.env['HAPROXY_TRIES'] ?? 5);

const SIZES = [1, 10, 100, 500];

const directory = useDirectory();
const certificate = useCertificate('IP:127.0.0.1');

/** What was tried, and how many batches counted as accepted. */
const results: string[] = [];
afterAll(() => {
  if (process.env['HAPROXY_TRIES'] !== undefined) process.stdout.write(`${results.join('\n')}\n`);
});

/** Sends batches of one size to a receiver, each until the tries are over. Returns how many counted as accepted. */
async function accepted(given: object, size: number, tries = TRIES, patienceMs?: number): Promise<number> {
  const options = syslogOptions.parse({ host: '127.0.0.1', ...given });
  const sender = createSyslogSender(options, patienceMs);
  const count = await acceptedBy(sender, size, tries);
  await sender.close().catch(() => undefined);
  return count;
}

async function acceptedBy(sender: Sender, size: number, tries: number): Promise<number> {
  let count = 0;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    try {
      await sender.send(messages(size));
      count += 1;
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
    }
  }
  return count;
}

/** A server that reads everything. Ends with its connections at the end of its scope. */
async function startReadingServer(onBytes: (count: number) => void) {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => onBytes(chunk.length)).on('error', () => undefined);
  });
  return {
    port: await listen(server),
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

const haproxy = findProgram('haproxy');

describe.skipIf(haproxy === undefined || !hasOpenssl)('HAProxy (needs haproxy and openssl)', () => {
  const ways = (port: number, tlsPort: number) =>
    [true, false].flatMap((confirm) => [
      { transport: 'tcp', port, confirm },
      { transport: 'tls', port: tlsPort, confirm, tls: { ca: certificate.cert } },
    ]);

  describe.each([
    ['a server that refuses connections', '', 0, TRIES],
    ['a server that is down', ' disabled', 0, TRIES],
    // Each try takes three seconds.
    ['a server that refuses repeated connections', '', 3, 1],
  ])('before %s', (which, state, retries, tries) => {
    let proxy: Receiver<'tcp' | 'tls'>;
    beforeAll(async () => {
      const [port, tlsPort] = [await freePort(), await freePort()];
      const backend = `127.0.0.1:${await freePort()}${state}` as const;
      proxy = await startHaproxy(haproxy ?? '', directory, { port, tlsPort, backend, retries }, certificate);
    });
    afterAll(() => proxy.stop());

    test.each(SIZES)('accepts no batch of %i', async (size) => {
      for (const way of ways(proxy.ports.tcp, proxy.ports.tls)) {
        const count = await accepted(way, size, tries);
        const how = `${way.transport}, ${way.confirm ? 'a connection for each batch' : 'a kept connection'}`;
        results.push(`${which}: ${how}: batches of ${size}: ${count} of ${tries} accepted`);
        expect({ ...way, accepted: count }).toEqual({ ...way, accepted: 0 });
      }
    });
  });

  test('before a server that works accepts every batch, and all bytes arrive', async () => {
    let bytes = 0;
    await using server = await startReadingServer((count) => (bytes += count));
    const [port, tlsPort] = [await freePort(), await freePort()];
    const backend = `127.0.0.1:${server.port}` as const;
    const proxy = await startHaproxy(
      haproxy ?? '',
      directory,
      { port, tlsPort, backend, retries: 0 },
      certificate,
    );
    onTestFinished(() => proxy.stop());
    for (const size of SIZES) {
      for (const way of ways(port, tlsPort)) {
        bytes = 0;
        expect(await accepted(way, size, 2, 20)).toBe(2);
        await waitFor(() => bytes >= 2 * size * 100);
      }
    }
  });

  test('accepts nothing more once its server has died, which it tries to reach for three seconds', async () => {
    await using ended = new AsyncDisposableStack();
    const server = ended.use(await startReadingServer(() => undefined));
    const [port, tlsPort] = [await freePort(), await freePort()];
    const backend = `127.0.0.1:${server.port}` as const;
    const ports = { port, tlsPort, backend, retries: 3 };
    const proxy = await startHaproxy(haproxy ?? '', directory, ports, certificate);
    onTestFinished(() => proxy.stop());
    const sender = createSyslogSender(
      syslogOptions.parse({ host: '127.0.0.1', transport: 'tcp', port, confirm: true }),
    );
    expect(await acceptedBy(sender, 10, 3)).toBe(3);
    await ended.disposeAsync();
    expect(await acceptedBy(sender, 10, 2)).toBe(0);
  });
});

const rsyslog = findProgram('rsyslogd');

describe.skipIf(rsyslog === undefined)('rsyslog that does not allow our address (needs rsyslogd)', () => {
  let receiver: Receiver<'tcp'>;
  beforeAll(async () => {
    receiver = await startStrictRsyslog(rsyslog ?? '', directory, await freePort());
  });
  afterAll(() => receiver.stop());

  test.each(SIZES)('accepts no batch of %i', async (size) => {
    for (const confirm of [true, false]) {
      const way = { transport: 'tcp', port: receiver.ports.tcp, confirm };
      expect({ ...way, accepted: await accepted(way, size) }).toEqual({ ...way, accepted: 0 });
    }
    expect(receiver.received()).toEqual([]);
  });
});
