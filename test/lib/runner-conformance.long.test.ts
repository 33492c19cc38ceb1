import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { sql } from 'kysely';
import { pino, type Logger } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { startAlerting } from '../../src/alerts/start-alerting.ts';
import { startGdprErasures } from '../../src/erasure/erase-person.ts';
import { startArchiving } from '../../src/archive/archive-in-turn.ts';
import { openArchiveFiles } from '../../src/archive/files/open-files.ts';
import { Engine } from '../../src/archive/engine.ts';
import { startForwardings } from '../../src/forward/start-forwardings.ts';
import { startInventory } from '../../src/inventory/refresh.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startSilenceWatch } from '../../src/observe/silence/silence-watch.ts';
import { startHistorySweep } from '../../src/reconcile/start-history-sweep.ts';
import { startReporting } from '../../src/reports/send-due-reports.ts';
import { startProving } from '../../src/seal/start-proving.ts';
import { startSequencing } from '../../src/seal/sequencer.ts';
import { loadSettings, type ServiceConfig } from '../../src/serve/load-settings.ts';
import { startCounting } from '../../src/store/counts/start-counting.ts';
import { startMaintenance } from '../../src/store/partitions/start-maintenance.ts';
import { startQuarantineLimits } from '../../src/store/quarantine/limit-quarantine.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { startReaderLimits } from '../../src/store/server/roles/limit-readers.ts';
import { startIndexBuilding } from '../../src/store/server/schema/build-indexes.ts';
import { startSubscriptionWatch } from '../../src/subscribe/start-subscription-watch.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';
import { startProxy, through, type Proxy } from '../support/proxy.ts';
import { SERVICE_ROLE } from '../support/roles.ts';
import { waitFor } from '../support/wait-for.ts';
import { listen } from '../support/listen.ts';

/** What a runner is started with. */
interface Needs {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly config: ServiceConfig;
  readonly logger: Logger;
}

interface Runner {
  readonly start: (needs: Needs, started: AsyncDisposableStack) => void | Promise<void>;
  /** How many parts repeat, each with a pause between its rounds. */
  readonly parts: number;
}

const ignore = () => undefined;
const follow = () => ignore;
const cloudsOf = ({ config, logger }: Needs) => ({ config, knowsStored: () => true, logger });

/** Every part of the service that works round by round in the background. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  startAlerting: {
    start: (needs, started) => startAlerting({ ...needs, onAlert: ignore }, started),
    parts: 1,
  },
  startArchiving: {
    start: ({ db, databaseUrl, config, logger }, started) => {
      const { directory } = config.archive;
      const files = openArchiveFiles(config.archive);
      const access = { db, databaseUrl, files, engine: new Engine(directory) };
      startArchiving(access, config, logger, started);
    },
    parts: 1,
  },
  startCounting: { start: ({ db, logger }, started) => startCounting(db, logger, started), parts: 2 },
  startForwardings: {
    start: (needs, started) =>
      startForwardings({ ...needs, follow, observer: { sent: ignore, failed: ignore } }, started),
    parts: 2,
  },
  startGdprErasures: {
    start: ({ db, config, logger }, started) => startGdprErasures({ db }, config, logger, started),
    parts: 1,
  },
  startHistorySweep: {
    start: (needs, started) =>
      startHistorySweep(
        { db: needs.db, sources: cloudsOf(needs), toleranceMs: 1_000, erasureKeyFile: undefined },
        started,
      ),
    parts: 1,
  },
  startIndexBuilding: {
    start: (needs, started) => startIndexBuilding({ ...needs, directUrl: undefined }, started),
    parts: 1,
  },
  startInventory: {
    start: (needs, started) => startInventory({ db: needs.db, sources: cloudsOf(needs) }, started),
    parts: 1,
  },
  startMaintenance: {
    start: (needs, started) =>
      startMaintenance({ ...needs, destinations: () => [], onBlocked: ignore }, started),
    parts: 1,
  },
  startProving: { start: startProving, parts: 4 },
  startQuarantineLimits: {
    start: (needs, started) => startQuarantineLimits({ ...needs, onDropped: ignore }, started),
    parts: 1,
  },
  startReaderLimits: {
    start: ({ db, logger }, started) => startReaderLimits(db, undefined, logger, started),
    parts: 1,
  },
  startReporting: {
    start: (needs, started) => startReporting({ ...needs, events: needs.db }, started),
    parts: 1,
  },
  startSequencing: { start: ({ db, logger }, started) => startSequencing(db, logger, started), parts: 1 },
  startSilenceWatch: {
    start: ({ db, logger }, started) => void startSilenceWatch(db, logger, started),
    parts: 1,
  },
  startSubscriptionWatch: {
    start: (needs, started) =>
      startSubscriptionWatch(
        { ...needs, follow, knowsStored: () => true, allNames: () => ['default'], onChecked: ignore },
        started,
      ),
    parts: 1,
  },
};

const SRC = path.resolve(import.meta.dirname, '../../src');

it('every function that starts background work until everything is closed is a runner here', () => {
  const found = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith(`serve${path.sep}`))
    .flatMap((file) => readFileSync(path.join(SRC, file), 'utf8').split('\nexport '))
    .flatMap(
      (text) => /^(?:async )?function (start\w+)\([^]*?: AsyncDisposableStack[^]*?\{\n/.exec(text)?.[1] ?? [],
    );
  // The workers of the queue repeat nothing themselves: the suite of the engines tests them.
  expect(found.toSorted()).toEqual([...Object.keys(RUNNERS), 'startStoring'].toSorted());
});

const database = useDatabase();
const directory = useDirectory();
let proxy: Proxy;
let cloud: Server;
let cloudUrl: string;
/** What the cloud was asked for. */
let asked: string[] = [];
beforeAll(async () => {
  const { hostname, port } = new URL(database.databaseUrl);
  proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
  const { app } = createEmulator({ rate: 0, scale: { devices: 2, clients: 2, users: 2 } });
  cloud = createServer((request, response) => {
    asked.push(request.url ?? '');
    app(request, response);
  });
  cloudUrl = `http://127.0.0.1:${await listen(cloud)}`;
});
afterAll(async () => {
  cloud.close();
  await proxy.stop();
});

/** All settings under which a runner has something to do. */
async function settings(): Promise<ServiceConfig> {
  const file = path.join(directory, 'settings.yml');
  await writeFile(
    file,
    `
destinations: [{ name: file, type: file, path: ${path.join(directory, 'out.jsonl')} }]
alerts: [{ name: logins, filter: { search: 'code:10001' } }]
reports: [{ name: monthly, report: logins, every: month, destination: file }]
`,
  );
  const { username, password } = EMULATOR_LOGINS.administrator;
  return loadSettings({
    XIQ_SINK_CONFIG: file,
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: 'a-secret-of-the-tests-0123456789',
    PUBLIC_URL: 'https://sink.example.com',
    CLOUD_API_URL: cloudUrl,
    CLOUD_USERNAME: username,
    CLOUD_PASSWORD: password,
    GDPR_ERASURE: 'auto',
    SUBSCRIBE: 'auto',
    ARCHIVE_AFTER_MONTHS: '3',
  });
}

/** Pauses that last until the test ends them, or their signal is aborted; and the shortest in milliseconds. */
let pauses = new Set<() => void>();
let shortestMs = Infinity;
beforeEach(() => {
  pauses = new Set();
  shortestMs = Infinity;
  asked = [];
  vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => {
    shortestMs = Math.min(shortestMs, ms);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = () => {
      pauses.delete(end);
      resolve();
    };
    const abort = () => {
      pauses.delete(end);
      reject(new Error('aborted'));
    };
    pauses.add(end);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    return promise;
  });
});
afterEach(() => vi.restoreAllMocks());

const INFO = 30;

function endPauses(): void {
  for (const end of pauses) end();
}

/** Starts a runner on connections of its own, and resolves once each part has made its first round. */
async function start({ start: startIt, parts }: Runner) {
  const problems: string[] = [];
  const logger = pino(
    { level: 'debug' },
    {
      write(line) {
        const { level, msg } = z.object({ level: z.number(), msg: z.string() }).parse(JSON.parse(line));
        if (level > INFO) problems.push(msg);
      },
    },
  );
  const databaseUrl = through(proxy, database.databaseUrl);
  const db = openDatabase(databaseUrl, ignore);
  const started = new AsyncDisposableStack();
  onTestFinished(async () => {
    await started.disposeAsync();
    await db.destroy();
  });
  await startIt({ db, databaseUrl, config: await settings(), logger }, started);
  const paused = () => waitFor(() => pauses.size === parts);
  const nextRound = async () => {
    endPauses();
    await paused();
  };
  await paused();
  return { started, db, problems, nextRound };
}

/** What the sessions of the runner wait for that execute a statement, or are in a transaction. */
async function findBusy(): Promise<readonly (string | null)[]> {
  const rows = await database.query<{ wait: string | null }>`
    select wait_event_type as wait from pg_stat_activity
    where datname = current_database() and usename = ${SERVICE_ROLE} and state <> 'idle'`;
  return rows.map(({ wait }) => wait);
}

async function countSessions(): Promise<number> {
  const rows = await database.query`select from pg_stat_activity
    where datname = current_database() and usename = ${SERVICE_ROLE}`;
  return rows.length;
}

describe.each(Object.entries(RUNNERS))('%s', (_, runner) => {
  it('works round by round without a complaint, and leaves nothing behind when it is stopped', async () => {
    const { started, problems, nextRound, db } = await start(runner);
    const before = problems.length;
    await nextRound();
    await nextRound();
    expect(problems.slice(before)).toEqual([]);
    await started.disposeAsync();
    expect(pauses.size).toBe(0);
    await db.destroy();
    await waitFor(async () => (await countSessions()) === 0, 5_000);
    const count = (call: string) => asked.filter((url) => url.startsWith(call)).length;
    expect(count('/logout')).toBe(count('/login'));
  });
});

/** All runners that need the database in each round: without a declared index that is missing, there is none to build. */
const busyRunners = (...others: readonly string[]) =>
  Object.entries(RUNNERS).filter(([name]) => !['startIndexBuilding', ...others].includes(name));

it.each(busyRunners())('%s goes on after an outage, and does not log each round', async (_, runner) => {
  const { problems, nextRound } = await start(runner);
  const restore = proxy.cut();
  for (let rounds = 0; rounds < 12; rounds += 1) await nextRound();
  await waitFor(() => problems.length > 0);
  // Rounds that are minutes apart may each say that they failed.
  expect(problems.length).toBeLessThanOrEqual(shortestMs < 60_000 ? 4 * runner.parts : Infinity);
  restore();
  await waitFor(async () => {
    const before = problems.length;
    await nextRound();
    await nextRound();
    return problems.length === before;
  });
});

// One looks at sessions alone, one at the catalogue, and one at a table only once something is stored.
it.each(busyRunners('startReaderLimits', 'startArchiving', 'startSequencing'))(
  '%s ends once the round in hand is over, and begins no other',
  async (_, runner) => {
    const { started } = await start(runner);
    const other = await database.db.startTransaction().execute();
    const { rows } = await sql<{ name: string }>`select quote_ident(relname) as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`.execute(other);
    const tables = rows.map((table) => table.name).join();
    await sql.raw(`lock table ${tables} in access exclusive mode`).execute(other);
    endPauses();
    await waitFor(async () => (await findBusy()).includes('Lock'));
    const closing = started.disposeAsync().then(findBusy);
    await other.rollback().execute();
    expect(await closing).toEqual([]);
    expect(pauses.size).toBe(0);
  },
);
