import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { SERVICE } from '../src/embedded/credentials.ts';
import { createRoles } from '../src/store/server/roles/create-roles.ts';
import { startDebianPostgres } from '../test/support/debian-postgres.ts';
import { SECRET, startProgram, temporaryDirectory } from '../test/support/program.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { createLatencies } from './latencies.ts';
import { seedEvents, SEEDED_DAYS } from './seed-events.ts';

/*
 * How long each page of the console and each question of its API takes on Debian's Postgres as it is installed, with JIT,
 * beside a year of events: right after the start, while everything that is counted is still behind, and afterwards. The
 * pages are found by following links, the questions in the API's own description. The first pages are printed always.
 * Ends with 1 if one takes longer than its limit. Run it on a machine that does nothing else:
 * node bench/pages.ts [EVENTS] [TIMES] [SOURCES]
 */

const EVENTS = Number(process.argv[2] ?? 3_000_000);
const TIMES = Number(process.argv[3] ?? 10);
const SOURCES = Array.from({ length: Number(process.argv[4] ?? 10) }, (_, index) => `customer-${index}`);
const LIMIT_MS = 3_000;
const MOST_PAGES = 120;

const year = new URLSearchParams({ since: new Date(Date.now() - SEEDED_DAYS * 86_400_000).toISOString() });
const withYear = (parameters: Record<string, string>) =>
  new URLSearchParams([...year, ...Object.entries(parameters)]).toString();

/** Questions over the whole year, with texts that are nowhere, rare and everywhere. */
const BROAD = ['nowhere-at-all', 'User jane', 'logged in'].flatMap((text) => [
  `/events?${withYear({ text })}`,
  `/api/v1/events?${withYear({ text })}`,
  `/api/v1/events/histogram?${withYear({ text })}`,
  ...['type', 'user', 'ssid', 'ap'].map((facet) => `/api/v1/events/facets?${withYear({ text, facet })}`),
]);

const lastDays = (days: number) =>
  new URLSearchParams({ since: new Date(Date.now() - days * 86_400_000).toISOString() }).toString();

/** What people open first, of the last 24 hours, of 30 days and of the year. */
const FIRST_PAGES = [
  '/',
  '/sources',
  '/coverage',
  ...['', lastDays(30), withYear({})].flatMap((range) => [
    `/events?${range}`,
    ...['type', 'user', 'ap', 'source'].map((facet) => `/api/v1/events/facets?facet=${facet}&${range}`),
  ]),
];

const descriptionSchema = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: z
        .object({
          parameters: z.array(z.object({ required: z.boolean().optional() })).default([]),
          responses: z.record(
            z.string(),
            z.object({ content: z.record(z.string(), z.unknown()).optional() }),
          ),
        })
        .optional(),
    }),
  ),
});

/** The questions of the API that need no parameter and are answered in JSON. */
async function findQuestions(address: string): Promise<readonly string[]> {
  const description: unknown = await (await fetch(`${address}/api/openapi.json`)).json();
  return Object.entries(descriptionSchema.parse(description).paths).flatMap(([path, { get }]) => {
    if (get === undefined || get.parameters.some(({ required }) => required)) return [];
    const isJson = Object.hasOwn(get.responses['200']?.content ?? {}, 'application/json');
    return isJson ? [path.startsWith('/api/') ? path : `/api/v1${path}`] : [];
  });
}

/** A page without what differs between two of its kind: ids, names and the values of its parameters. */
function kindOf(address: string): string {
  const { pathname, searchParams } = new URL(address, 'http://local');
  return `${pathname.replaceAll(/[0-9a-f-]{36}|\d+/g, '*')} ${[...new Set(searchParams.keys())].toSorted().join(',')}`;
}

/** One page of each kind that can be reached from the first by links. */
async function findPages(address: string): Promise<readonly string[]> {
  const pages = new Map([[kindOf('/'), '/']]);
  for (const page of pages.values()) {
    const response = await fetch(address + page);
    const text = await response.text();
    if (response.headers.get('content-type')?.startsWith('text/html') !== true) pages.delete(kindOf(page));
    for (const [, link = ''] of text.matchAll(/href="(\/[^"#]*)"/g)) {
      const next = link.replaceAll('&amp;', '&');
      if (/^\/(?:api|assets|log-?out)/.test(next) || pages.has(kindOf(next)) || pages.size >= MOST_PAGES)
        continue;
      pages.set(kindOf(next), next);
    }
  }
  return [...pages.values()];
}

interface Answered {
  readonly address: string;
  readonly status: number;
  readonly p50: number;
  readonly p95: number;
  readonly slowest: number;
}

async function measure(address: string, questions: readonly string[]): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const question of questions) {
    const latencies = createLatencies();
    let status = 0;
    for (let time = 0; time < TIMES; time += 1) {
      const began = performance.now();
      const response = await fetch(address + question);
      await response.arrayBuffer();
      latencies.add(performance.now() - began);
      ({ status } = response);
    }
    answered.push({
      address: question,
      status,
      p50: latencies.percentile(50),
      p95: latencies.percentile(95),
      slowest: latencies.percentile(100),
    });
  }
  return answered.toSorted((one, other) => other.slowest - one.slowest);
}

/** Prints the slowest ten, and what failed or took longer than its limit. Resolves with the number of these. */
function report(phase: string, answered: readonly Answered[]): number {
  const beyond = answered.filter(({ status, slowest }) => slowest > LIMIT_MS || status >= 500);
  console.log(
    `\n${phase}: ${answered.length} pages and questions, ${beyond.length} beyond ${LIMIT_MS} ms or failed`,
  );
  const first = answered.filter(({ address }) => FIRST_PAGES.includes(address));
  for (const { address, status, p50, p95, slowest } of new Set([
    ...answered.slice(0, 10),
    ...beyond,
    ...first,
  ])) {
    console.log(`  p50 ${p50}, p95 ${p95}, slowest ${slowest} ms, ${status}: ${address.slice(0, 150)}`);
  }
  return beyond.length;
}

const postgres = await startDebianPostgres({ settings: { jit: 'on', fsync: 'off' } });
const urlOf = (role: string) => postgres.url.replace(/(?<=\/\/)[^@]*/, `${role}:${SECRET}`);
const [databaseUrl, readerUrl] = [urlOf(SERVICE), urlOf('xiq_reader')];
const DATA_DIR = await temporaryDirectory();
try {
  await createRoles(postgres.url, { databaseUrl, readerUrl, migrationUrl: postgres.url });
  await seedEvents(postgres.url, EVENTS, new AbortController().signal, SOURCES);
  const sources = SOURCES.map((name, index) => ({ name, webhook_secrets: [`${SECRET}-${index}`] }));
  await writeFile(path.join(DATA_DIR, 'sources.yaml'), JSON.stringify({ sources }));
  const program = await startProgram({
    DATABASE_URL: databaseUrl,
    READER_DATABASE_URL: readerUrl,
    MIGRATION_DATABASE_URL: postgres.url,
    DATA_DIR,
    XIQ_SINK_CONFIG: path.join(DATA_DIR, 'sources.yaml'),
  });
  const questions = [
    ...FIRST_PAGES,
    ...(await findPages(program.adminUrl)),
    ...(await findQuestions(program.adminUrl)),
    ...BROAD,
  ];
  let beyond = report('while counts are behind', await measure(program.adminUrl, questions));
  await waitFor(async () => {
    const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
    return /^xiq_sink_seal_behind_events 0$/m.test(metrics);
  }, 3_600_000);
  beyond += report('afterwards', await measure(program.adminUrl, questions));
  await program.end('SIGTERM');
  process.exitCode = beyond > 0 ? 1 : 0;
} finally {
  await postgres.stop();
  await rm(DATA_DIR, { recursive: true, force: true });
}
