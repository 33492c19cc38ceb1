import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { compileCluster, startCluster } from '../forward/real-receivers/kafka-cluster.ts';
import { mailServer } from '../forward/senders/mail-server.ts';
import { relpReceiver } from '../forward/senders/relp-stand-in.ts';
import { startS3 } from '../forward/senders/s3-server.ts';
import { tcpServer } from '../forward/senders/tcp-server.ts';
import { inTurn, standIn, type Reply, type Script } from '../forward/senders/stand-in.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { hasOpenssl, makeCertificate, type TestCertificate } from '../support/certificates.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';
import { postDelivery, PROGRAM, SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** A destination of the settings, and all that it has received so far. */
interface Receiver {
  readonly destination: object;
  readonly received: () => string | Promise<string>;
}

/** The numbers of the events in a text, in order. A format may repeat the description. */
function numbersOf(text: string): number[] {
  const found = [...text.matchAll(/order-(\d+)/g)].map(([, number]) => Number(number));
  return found.filter((number, index) => number !== found[index - 1]);
}

const EventPage = z.object({
  items: z.array(z.object({ columns: z.object({ description: z.string() }) })),
  next_cursor: z.string().nullable(),
});

/** The descriptions of all events in the console's list, page by page, newest first. */
async function listedBy(adminUrl: string): Promise<string> {
  const listed: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await fetch(`${adminUrl}/api/v1/events?limit=50${after}`);
    const page = EventPage.parse(await answer.json());
    listed.push(...page.items.map(({ columns }) => columns.description));
    cursor = page.next_cursor;
  }
  return listed.join('\n');
}

/** A server by HTTP that accepts every request with this answer. */
async function httpReceiver(
  script: Script,
  toDestination: (url: string) => object,
  certificate?: TestCertificate,
): Promise<Receiver> {
  const server = await standIn(script, certificate);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return {
    destination: toDestination(server.url),
    received: () => server.received.map(({ body }) => body).join('\n'),
  };
}

async function syslogReceiver(): Promise<Receiver> {
  let text = '';
  const { port } = await tcpServer((socket) => {
    socket.on('data', (chunk) => (text += chunk.toString('latin1'))).on('end', () => socket.end());
  });
  return { destination: { transport: 'tcp', host: '127.0.0.1', port }, received: () => text };
}

async function relp(certificate?: TestCertificate): Promise<Receiver> {
  const { port, commands } = await relpReceiver(undefined, certificate);
  const tls = certificate && { tls: { ca: certificate.cert } };
  return {
    destination: { host: '127.0.0.1', port, ...tls },
    received: () =>
      commands
        .flat()
        .map(({ data }) => data)
        .join('\n'),
  };
}

async function kafka(program: string): Promise<Receiver> {
  const cluster = await startCluster(program);
  await cluster.command('topic events 4');
  const consumed = cluster.consume('events');
  return {
    destination: { brokers: [cluster.broker], topic: 'events' },
    received: () => consumed.map(({ text }) => text).join('\n'),
  };
}

/** The events of the objects, in the order of the manifests. */
async function s3(): Promise<Receiver> {
  const server = await startS3();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return {
    destination: { ...server.options, batch: { events: 100, seconds: 1 } },
    async received() {
      const manifests = await server.manifests();
      const keys = manifests.flatMap(({ objects }) => objects.map(({ key }) => key));
      return (await Promise.all(keys.map(server.lines))).flat().join('\n');
    },
  };
}

async function smtp(): Promise<Receiver> {
  const { port, mails } = await mailServer();
  const addresses = { from: 'sink@example.com', to: 'noc@example.com' };
  return {
    destination: { host: '127.0.0.1', port, ...addresses },
    received: () => mails.map(({ body }) => body).join('\n'),
  };
}

const bulkAnswer: Script = ({ body }): Reply => {
  const items = [...body.matchAll(/^\{"create"/gm)].map(() => ({ create: { status: 201 } }));
  return { json: { items } };
};

/** Every type of destination but stdout, which the program itself is, and kafka only where its programs are installed. */
const receivers = (directory: string, certificate: TestCertificate): Record<string, Promise<Receiver>> => {
  const file = path.join(directory, 'events.jsonl');
  const cluster = compileCluster(directory);
  return {
    ...('program' in cluster ? { kafka: kafka(cluster.program) } : {}),
    syslog: syslogReceiver(),
    relp: relp(),
    'relp+tls': relp(certificate),
    s3: s3(),
    splunk_hec: httpReceiver(inTurn({ json: { code: 0 } }), (url) => ({ url, token: { env: 'TOKEN' } })),
    elasticsearch: httpReceiver(bulkAnswer, (url) => ({ url, index: 'logs' })),
    https: httpReceiver(
      inTurn({ status: 200 }),
      (url) => ({ url, allow_private: true, tls: { ca: certificate.cert } }),
      certificate,
    ),
    sentinel: httpReceiver(
      ({ url }) =>
        url.includes('/token') ? { json: { access_token: 't', expires_in: 3600 } } : { status: 204 },
      (url) => ({
        endpoint: url,
        login_url: url,
        rule_id: 'dcr-1',
        stream: 'Custom-Events',
        tenant_id: 'tenant',
        client_id: 'app',
        client_secret: { env: 'TOKEN' },
        tls: { ca: certificate.cert },
      }),
      certificate,
    ),
    smtp: smtp(),
    chat: httpReceiver(
      inTurn({ raw: 'ok' }),
      (url) => ({ url, service: 'slack', allow_private: true, tls: { ca: certificate.cert } }),
      certificate,
    ),
    file: Promise.resolve({
      destination: { path: file },
      received: () => readFile(file, 'utf8').catch(() => ''),
    }),
  };
};

describe.skipIf(!hasOpenssl)('events leave in the order of their arrival (needs openssl on PATH)', () => {
  let certificate: TestCertificate;
  beforeAll(() => {
    certificate = makeCertificate('IP:127.0.0.1');
  });
  afterAll(() => certificate[Symbol.dispose]());

  it.each(BACKENDS.filter(({ available }) => available))(
    'record by record, to every type of destination, to events tail and in the console, $backend',
    async ({ usesRedis }) => {
      const database = await databaseForTest();
      const directory = await directoryForTest();
      const byType = Object.entries(receivers(directory, certificate));
      const started = await Promise.all(
        byType.map(async ([type, receiver]) => ({ type, ...(await receiver) })),
      );
      const destinations = started.map(({ type, destination }) => ({
        name: type.replace('+', '-'),
        type,
        ...destination,
      }));
      const file = path.join(directory, 'settings.yaml');
      await writeFile(
        file,
        JSON.stringify({ destinations: [...destinations, { name: 'output', type: 'stdout' }] }),
      );
      const settings = {
        DATABASE_URL: database.databaseUrl,
        DATA_DIR: directory,
        WEBHOOK_SECRET: SECRET,
        XIQ_SINK_CONFIG: file,
        TOKEN: 'token-of-the-tests',
        ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
      };
      const program = await serveForTest(settings);
      const tail = spawn(PROGRAM, ['events', 'tail', '--json'], {
        env: { PATH: process.env['PATH'], ...settings },
      });
      onTestFinished(() => void tail.kill());
      let tailed = '';
      tail.stdout.on('data', (chunk: Buffer) => (tailed += chunk.toString()));
      let complaints = '';
      tail.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
      const live = new AbortController();
      const stream = await fetch(`${program.adminUrl}/api/v1/events/stream`, { signal: live.signal });
      let streamed = '';
      const reading = (async () => {
        for await (const chunk of stream.body ?? []) streamed += Buffer.from(chunk).toString();
      })();
      onTestFinished(async () => {
        live.abort();
        await reading.catch(() => undefined);
      });

      const began = Date.now();
      let sent = 0;
      async function deliver(records: number): Promise<void> {
        // The console lists events by their own time, so each has another one.
        const body = Array.from({ length: records }, () => {
          sent += 1;
          return auditRecord({ code: 10_000, description: `order-${sent}`, timeStamp: began + sent });
        });
        const response = await postDelivery(program, 'AUDIT_LOG_ALL', body);
        expect(response.status).toBe(200);
      }
      // A tail begins with what is stored after its start, which it does not announce.
      await waitFor(async () => {
        await deliver(1);
        if (tail.exitCode !== null) throw new Error(`events tail ended: ${complaints}`);
        return tailed !== '' && streamed.includes('order-');
      });
      for (let delivery = 0; delivery < 400; delivery += 1) await deliver(1);
      for (let delivery = 0; delivery < 50; delivery += 1) await deliver(20);

      const all = Array.from({ length: sent }, (_, index) => index + 1);
      // On a machine that is too slow for the queue, a delivery takes the way over the spool, and later ones overtake it.
      expect(program.output()).not.toContain('spooling deliveries');
      const outputs = [...started, { type: 'stdout', received: program.output }];
      for (const { type, received } of outputs) {
        await waitFor(async () => numbersOf(await received()).length >= sent);
        expect({ type, numbers: numbersOf(await received()) }).toEqual({ type, numbers: all });
      }
      for (const text of [() => tailed, () => streamed]) {
        await waitFor(() => numbersOf(text()).includes(sent));
        const [first = 0] = numbersOf(text());
        expect(numbersOf(text())).toEqual(all.slice(first - 1));
      }
      // On a busy machine, the page may say that the search took too long.
      const page = await waitFor(async () => {
        const text = await (await fetch(`${program.adminUrl}/events`)).text();
        return numbersOf(text).length > 0 ? text : undefined;
      });
      expect(numbersOf(page)).toEqual(all.toReversed().slice(0, 50));
      expect(numbersOf(await listedBy(program.adminUrl))).toEqual(all.toReversed());
    },
  );
});
