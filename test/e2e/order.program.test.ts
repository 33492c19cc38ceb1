import { spawn } from 'node:child_process';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { RECEIVERS } from '../forward/senders/receivers.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { hasOpenssl, type TestCertificate } from '../support/certificates.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { postDelivery, PROGRAM } from '../support/program.ts';
import { useCertificate } from '../support/use-certificate.ts';
import { waitFor } from '../support/wait-for.ts';

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

/** The first way of each type of destination, as the settings have it, but for stdout, which the program itself is. */
async function startReceivers(certificate: TestCertificate) {
  const { stdout: _, ...others } = RECEIVERS;
  const trust = { server_name: 'siem.test', ca: certificate.cert };
  const started = Object.entries(others).map(async ([type, ways]) => {
    const [way] = Object.values(ways);
    const receiver = await way?.start({ conduct: 'accepts', certificate, trust, timeoutSeconds: 10 });
    if (receiver === undefined) throw new Error(`${type} has no receiver`);
    const { options, accepted } = receiver;
    // A bucket gets its objects by the minute.
    const batch = type === 's3' ? { batch: { events: 100, seconds: 1 } } : {};
    return { destination: { name: type.replace('+', '-'), type, ...options, ...batch }, accepted };
  });
  return Promise.all(started);
}

describe.skipIf(!hasOpenssl)('events leave in the order of their arrival (needs openssl on PATH)', () => {
  const certificate = useCertificate('DNS:siem.test');

  it.each(BACKENDS.filter(({ available }) => available))(
    'record by record, to every type of destination, to events tail and in the console, $backend',
    async ({ usesRedis }) => {
      const database = await databaseForTest();
      const receivers = await startReceivers(certificate);
      const destinations = receivers.map(({ destination }) => destination);
      const output = { name: 'output', type: 'stdout' };
      const settings = {
        DATABASE_URL: database.databaseUrl,
        DATA_DIR: await directoryForTest(),
        XIQ_SINK_CONFIG: await settingsFile({ destinations: [...destinations, output] }),
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

      // All within an hour, which a bucket has an object for.
      const began = Date.now() - (Date.now() % 3_600_000);
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
      await waitFor(() => numbersOf(program.output()).length >= sent);
      expect(numbersOf(program.output())).toEqual(all);
      const { rows } = await sql<{ id: string }>`
        select event_id as id from audit_events order by occurred_at`.execute(database.db);
      const ids = rows.map(({ id }) => id);
      for (const { destination, accepted } of receivers) {
        // On a busy machine, the slowest took 40 s.
        await waitFor(async () => (await accepted()).length >= sent, 100_000);
        expect({ type: destination.type, ids: await accepted() }).toEqual({ type: destination.type, ids });
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
