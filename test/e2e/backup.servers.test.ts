import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { encodeBatch } from '../../src/queue/delivery-batch.ts';
import { keepCredentials, bootstrapUrl } from '../../src/embedded/credentials.ts';
import { openSpool } from '../../src/queue/spool/spool.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import {
  endOfProgram,
  killProgramWhen,
  postDelivery,
  PROGRAM,
  runProgram,
  SECRET,
  startProgram,
} from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const directory = useDirectory();
const programs: Program[] = [];
afterAll(async () => {
  for (const program of programs) if (!program.hasEnded()) await program.end('SIGTERM');
});

const settingsOf = (name: string) => ({ DATA_DIR: path.join(directory, name), WEBHOOK_SECRET: SECRET });

const SECRETS_KEY = randomBytes(32).toString('base64');

/** An installation with its generated secret, a source in the database, and a delivery in the spool. */
const spooled = () => ({ DATA_DIR: path.join(directory, 'spooled'), SECRETS_KEY });
const backupOfSpool = () => path.join(directory, 'backup-of-spool');
let secretOfCustomer: string;

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

async function serve(name: string): Promise<Program> {
  const program = await startProgram(settingsOf(name));
  programs.push(program);
  return program;
}

/** Sends deliveries of one record by several senders at once, each with a number of its own as its user id. */
function startLoad({ url }: Program, senders = 16) {
  const acknowledged: number[] = [];
  const stopping = new AbortController();
  let next = 0;
  const send = async () => {
    while (!stopping.signal.aborted) {
      next += 1;
      const userId = next;
      const response = await postDelivery({ url }, 'AUDIT_LOG_ALL', [auditRecord({ userId })]);
      await response.text();
      if (response.ok) acknowledged.push(userId);
    }
  };
  const all = Promise.all(Array.from({ length: senders }, send));
  return {
    acknowledged: () => acknowledged.length,
    async stop() {
      stopping.abort();
      await all;
      return acknowledged;
    },
  };
}

/** A connection of the superuser to the embedded database of a running `serve`. */
async function connect(name: string): Promise<Client> {
  const credentials = await keepCredentials(path.join(directory, name, 'postgres'));
  const client = new Client({ connectionString: bootstrapUrl(credentials) });
  await client.connect();
  return client;
}

const Manifest = z.looseObject({
  end_lsn: z.string(),
  began_at: z.string(),
  files: z.record(z.string(), z.string()),
});
const manifestFile = () => path.join(directory, 'backup', 'backup.json');

/** Until it is stopped, notes which transactions have committed by which place in the log. */
function recordCommits(client: Client) {
  const seen: { snapshot: string; lsn: string }[] = [];
  const stopping = new AbortController();
  const done = (async () => {
    while (!stopping.signal.aborted) {
      // In this order: the snapshot is taken before the function of the select list is called.
      const { rows } = await client.query<{ snapshot: string; lsn: string }>(
        'select pg_current_snapshot()::text as snapshot, pg_current_wal_insert_lsn()::text as lsn',
      );
      seen.push(...rows);
    }
  })();
  return async () => {
    stopping.abort();
    await done;
    return seen;
  };
}

const visible = async (client: Client, snapshot: string) => {
  const { rows } = await client.query<{ id: string }>(
    'select delivery_id as id from deliveries where pg_visible_in_snapshot(xid, $1::text::pg_snapshot)',
    [snapshot],
  );
  return rows.map(({ id }) => id);
};

it('restores, after the loss of the data directory, every row committed before the end of a backup under load', async () => {
  const program = await serve('data');
  const live = await connect('data');
  const load = startLoad(program);
  await waitFor(() => load.acknowledged() > 500);

  const recorder = await connect('data');
  const stopRecording = recordCommits(recorder);
  const acknowledgedBefore = load.acknowledged();
  const printed = await runProgram(settingsOf('data'), 'backup', path.join(directory, 'backup'), '--json');
  const acknowledgedAfter = load.acknowledged();
  const seen = await stopRecording();
  await recorder.end();
  const numbers = await load.stop();
  expect(acknowledgedAfter).toBeGreaterThan(acknowledgedBefore + 50);

  const manifest = Manifest.parse(JSON.parse(await readFile(manifestFile(), 'utf8')));
  expect(JSON.parse(printed)).toMatchObject({
    directory: path.join(directory, 'backup'),
    end_lsn: manifest.end_lsn,
  });
  const { rows: places } = await live.query<{ snapshot: string }>(
    `select snapshot from unnest($1::text[], $2::pg_lsn[]) as seen (snapshot, lsn) where lsn <= $3::pg_lsn
     order by lsn desc limit 1`,
    [seen.map(({ snapshot }) => snapshot), seen.map(({ lsn }) => lsn), manifest.end_lsn],
  );
  const committed = await visible(live, places[0]?.snapshot ?? '');
  const { rows: first } = await live.query<{ n: number }>(
    'select count(*)::int as n from deliveries where stored_at < $1',
    [manifest.began_at],
  );
  // Rows were committed while the backup ran.
  expect(committed.length).toBeGreaterThan(first[0]?.n ?? 0);
  await live.end();
  expect(await program.end('SIGTERM')).toBe(0);
  await rm(path.join(directory, 'data'), { recursive: true });

  expect(await runProgram(settingsOf('data'), 'restore', path.join(directory, 'backup'))).toMatch(
    /rows verified/,
  );
  const restored = await serve('data');
  const again = await connect('data');
  const { rows: ids } = await again.query<{ id: string }>('select delivery_id as id from deliveries');
  const found = new Set(ids.map(({ id }) => id));
  expect(committed.filter((id) => !found.has(id))).toEqual([]);

  // Whatever was answered before the backup began is there, too, once its queue is empty.
  const expected = numbers.slice(0, acknowledgedBefore);
  await waitFor(async () => {
    const { rows } = await again.query<{ user_id: string }>('select user_id from audit_events');
    const stored = new Set(rows.map(({ user_id: id }) => Number(id)));
    return expected.every((number) => stored.has(number));
  });
  const { rows: sums } = await again.query<{ adds_up: boolean }>('select adds_up from conservation');
  expect(sums.every(({ adds_up: addsUp }) => addsUp)).toBe(true);
  const { rows: actions } = await again.query(
    "select action, outcome from operator_log where action like 'database.%' order by id",
  );
  expect(actions).toEqual([
    { action: 'database.backup', outcome: null },
    { action: 'database.restore', outcome: 'done' },
  ]);
  const more = startLoad(restored, 1);
  await waitFor(() => more.acknowledged() > 5);
  await more.stop();
  await again.end();
  await restored.end('SIGTERM');
});

it('leaves nothing in a backup that other users could read', async () => {
  const backup = path.join(directory, 'backup');
  const names = ['.', ...(await readdir(backup, { recursive: true }))];
  expect(names).toEqual(
    expect.arrayContaining(['backup.json', 'credentials.json', 'postgres.tar.zst', 'spool']),
  );
  for (const name of names) expect((await stat(path.join(backup, name))).mode & 0o077).toBe(0);
});

/** Everything in a backup, the database unpacked. */
async function contentsOf(backup: string): Promise<Buffer> {
  const entries = await readdir(backup, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const contents = files.map(async ({ parentPath, name }) => {
    const content = await readFile(path.join(parentPath, name));
    return name.endsWith('.zst') ? zstdDecompressSync(content) : content;
  });
  return Buffer.concat(await Promise.all(contents));
}

it('takes along the deliveries in the spool and the generated secret, while serve does not run', async () => {
  const settings = spooled();
  const program = await startProgram(settings);
  await program.end('SIGTERM');
  const spool = openSpool(
    { directory: path.join(settings.DATA_DIR, 'spool'), maxBytes: 2 ** 30, minFreeBytes: 0 },
    pino({ level: 'silent' }),
  );
  await spool.append(
    encodeBatch([queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userName: 'spooled@example.com' })])]),
  );
  await spool.close();
  const added = await runProgram(settings, 'sources', 'add', 'customer');
  secretOfCustomer = /webhook secret: (\w+)/.exec(added)?.[1] ?? '';
  await runProgram(settings, 'backup', backupOfSpool());
  const secret = await readFile(path.join(settings.DATA_DIR, 'webhook-secret'), 'utf8');
  await rm(settings.DATA_DIR, { recursive: true });
  await runProgram(settings, 'restore', backupOfSpool());
  expect(await readFile(path.join(settings.DATA_DIR, 'webhook-secret'), 'utf8')).toBe(secret);
  const again = await startProgram(settings);
  programs.push(again);
  await waitFor(async () => (await runProgram(settings, 'events', 'search')).includes('spooled@example.com'));
  await again.end('SIGTERM');
});

it('contains secrets of sources only as the key of the environment has encrypted them', async () => {
  const contents = await contentsOf(backupOfSpool());
  expect(secretOfCustomer).toHaveLength(64);
  expect(contents.includes('sealed')).toBe(true);
  expect(contents.includes(secretOfCustomer)).toBe(false);
  const key = Buffer.from(SECRETS_KEY, 'base64');
  for (const form of [SECRETS_KEY, key, key.toString('hex')]) expect(contents.includes(form)).toBe(false);
});

describe('after a kill -9', () => {
  it('an unfinished backup is no backup, and the next one says what to do', async () => {
    const settings = spooled();
    const target = path.join(directory, 'killed-backup');
    await killProgramWhen(
      async () => (await readdir(target).catch((): string[] => [])).includes('postgres.tar.zst'),
      settings,
      'backup',
      target,
    );
    const again = await endOfProgram(settings, 'backup', target);
    expect([again.code, again.stderr]).toEqual([
      2,
      expect.stringContaining('contains an incomplete backup. Delete it'),
    ]);
    const restored = await endOfProgram(settingsOf('from-killed'), 'restore', target);
    expect([restored.code, restored.stderr]).toEqual([2, expect.stringContaining('not a complete backup')]);
    await rm(target, { recursive: true });
    await runProgram(settings, 'backup', target);
    const client = await connect('spooled');
    const { rows: slots } = await client.query('select from pg_replication_slots');
    await client.end();
    expect(slots).toEqual([]);
  });

  it.each([
    { place: 'while it unpacks', file: 'PG_VERSION' },
    { place: 'while it verifies', file: 'postmaster.pid' },
  ])(
    'nothing starts on a restore that was interrupted $place, and restore can be repeated',
    async ({ file }) => {
      const name = `killed-restore-${file}`;
      const settings = { ...spooled(), DATA_DIR: path.join(directory, name) };
      await killProgramWhen(
        () => exists(path.join(settings.DATA_DIR, 'postgres', 'cluster', file)),
        settings,
        'restore',
        backupOfSpool(),
      );
      for (const command of [['serve'], ['events', 'search']]) {
        const { code, stderr } = await endOfProgram(settings, ...command);
        expect([code, stderr]).toEqual([2, expect.stringMatching(/did not finish\. Run \S+ restore again/)]);
      }
      expect(await runProgram(settings, 'restore', backupOfSpool())).toMatch(/rows verified/);
      const program = await startProgram(settings);
      programs.push(program);
      await waitFor(async () =>
        (await runProgram(settings, 'events', 'search')).includes('spooled@example.com'),
      );
      await program.end('SIGTERM');
    },
  );
});

it('refuses to restore over data, or from a backup that is damaged or incomplete, and to back up a server', async () => {
  const backup = path.join(directory, 'backup');
  const other = settingsOf('other');
  const refused = async (settings: Record<string, string>, ...args: string[]) => {
    const { code, stderr } = await endOfProgram(settings, ...args);
    expect(code).toBe(2);
    return stderr;
  };
  expect(await refused(settingsOf('data'), 'restore', backup)).toContain(
    'is not empty. Set DATA_DIR to a new',
  );
  expect(await refused(other, 'restore', directory)).toContain('is not a complete backup');
  expect(await refused(settingsOf('data'), 'backup', backup)).toContain('is not empty');
  for (const command of ['backup', 'restore']) {
    const server = { ...other, DATABASE_URL: 'postgresql://db.example/xiq' };
    expect(await refused(server, command, backup)).toContain('docs/backup.md');
  }

  // A row fewer than were counted: the database is not left where serve would start it.
  const manifest = await readFile(manifestFile(), 'utf8');
  await writeFile(
    manifestFile(),
    manifest.replace(/"operator_log": (\d+)/, (_, n) => `"operator_log": ${Number(n) + 9}`),
  );
  const wrong = await endOfProgram(other, 'restore', backup);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/operator_log has \d+ of \d+/)]);
  expect((await endOfProgram(other, 'events', 'search')).stderr).toContain('did not finish');
  await writeFile(
    manifestFile(),
    manifest.replace(/("audit_events_\w+"): ([1-9]\d*)/, (_, table, n) => `${table}: ${Number(n) - 1}`),
  );
  expect((await endOfProgram(other, 'restore', backup)).stderr).toMatch(
    /audit_events_\w+ has [\d,]+ of [\d,]+/,
  );
  await writeFile(manifestFile(), manifest);
  // And the command can be repeated.
  await runProgram(other, 'restore', backup);

  const file = await open(path.join(backup, 'postgres.tar.zst'), 'r+');
  const { size } = await file.stat();
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, Math.floor(size / 2));
  await file.write(Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, Math.floor(size / 2));
  await file.close();
  const damaged = await endOfProgram(settingsOf('third'), 'restore', backup);
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('postgres.tar.zst is damaged')]);
});

it('removes what it has written when it is stopped', async () => {
  const program = await serve('other');
  const target = path.join(directory, 'stopped');
  const child = spawn(PROGRAM, ['backup', target], {
    env: { PATH: process.env['PATH'], ...settingsOf('other') },
  });
  const exited = once(child, 'exit');
  await waitFor(async () => (await readdir(target).catch((): string[] => [])).includes('postgres.tar.zst'));
  child.kill('SIGTERM');
  await exited;
  await expect(stat(target)).rejects.toThrow('ENOENT');
  // And serve is unharmed.
  expect((await fetch(`${program.url}/readyz`)).status).toBe(200);
  await program.end('SIGTERM');
});
