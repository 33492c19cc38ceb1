import { execFile } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  backUpServer,
  debianProgram,
  hasDebianPostgres,
  startDebianPostgres,
} from '../support/debian-postgres.ts';
import type { DebianPostgres } from '../support/debian-postgres.ts';
import { auditRecord } from '../support/deliveries.ts';
import { directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { endOfProgram, postDelivery, runProgram, SECRET } from '../support/program.ts';
import { query } from '../support/query.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);

async function startServer(...given: Parameters<typeof startDebianPostgres>): Promise<DebianPostgres> {
  const server = await startDebianPostgres(...given);
  onTestFinished(() => server.stop());
  return server;
}

const databaseOn = ({ url }: DebianPostgres) => url.replace(/postgres$/, 'xiq_sink');

/** An installation on a server: its settings, what it has forwarded, and how to send to it. */
async function createInstallation(server: DebianPostgres) {
  await query(server.url, 'create database xiq_sink');
  const directory = await directoryForTest();
  const file = path.join(directory, 'events.jsonl');
  const config = await settingsFile({ destinations: [{ name: 'file', type: 'file', path: file }] });
  const settingsOn = ({ port }: DebianPostgres) => ({
    DATABASE_URL: `postgresql://xiq_sink:password-of-service@127.0.0.1:${port}/xiq_sink`,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    XIQ_SINK_CONFIG: config,
  });
  const roles = {
    BOOTSTRAP_DATABASE_URL: server.url,
    READER_DATABASE_URL: `postgresql://xiq_reader:password-of-reader@127.0.0.1:${server.port}/xiq_sink`,
  };
  await runProgram({ ...settingsOn(server), ...roles }, 'migrate');
  const start = (on: DebianPostgres) => serveForTest(settingsOn(on));
  /** The numbers of the forwarded events, in the order in which they came. */
  const received = async () =>
    [...(await readFile(file, 'utf8').catch(() => '')).matchAll(/"userId":(\d+)/g)].map(([, number]) =>
      Number(number),
    );
  return { settingsOn, start, received };
}

/** Sends events with these numbers, each in a delivery of its own. */
async function send(program: Program, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number += 1) {
    const { status } = await postDelivery(program, 'AUDIT_LOG_ALL', [
      auditRecord({ userId: number, userName: 'Müller' }),
    ]);
    expect(status).toBe(200);
  }
}

const numbers = (to: number) => Array.from({ length: to }, (_, index) => index);

/** Uses ids of transactions, so that those of a fresh server are far below. */
const useIds = (server: DebianPostgres, count: number) =>
  query(
    databaseOn(server),
    `do $$ begin for i in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`,
  );

/** Copies a database as docs/backup.md says. */
async function copyDatabase(from: DebianPostgres, to: DebianPostgres, directory: string): Promise<void> {
  const dump = path.join(directory, 'dump');
  const globals = path.join(directory, 'roles.sql');
  await run(debianProgram('pg_dumpall'), ['--globals-only', '-d', from.url, '-f', globals]);
  await run(debianProgram('pg_dump'), ['--format=custom', '-d', databaseOn(from), '-f', dump]);
  await run(debianProgram('psql'), ['-q', '-d', to.url, '-f', globals]);
  await query(to.url, 'create database xiq_sink');
  await run(debianProgram('pg_restore'), ['--exit-on-error', '-d', databaseOn(to), dump]);
}

/** How many deliveries the last roll-up has counted. */
async function countedOn(server: DebianPostgres): Promise<number> {
  const [sums] = await query<{ counted: number | null }>(
    databaseOn(server),
    'select sum(deliveries)::int as counted from arrival_totals',
  );
  return sums?.counted ?? 0;
}

/** How much is sealed. */
async function sealedOn(
  server: DebianPostgres,
): Promise<{ readonly leaves: number; readonly events: number }> {
  const [state] = await query<{ leaves: number; events: number }>(
    databaseOn(server),
    'select size::int as leaves, (next_position - first_position)::int as events from log_seal_state',
  );
  return state ?? { leaves: 0, events: 0 };
}

/** What each count says, which must all be the same. */
async function countsOn(server: DebianPostgres, settings: Record<string, string>) {
  const [counts] = await query<Record<string, number | boolean>>(
    databaseOn(server),
    `select (select count(*)::int from deliveries) as deliveries, (select count(*)::int from audit_events) as events,
       (select sum(deliveries)::int from arrival_totals) as counted, (select sum(deliveries)::int from arrivals) as charted,
       (select sum(delivery_count)::int from conservation) as conserved,
       (select bool_and(adds_up) from conservation) as adds_up`,
  );
  const exported = await runProgram(settings, 'events', 'export', '--format', 'ndjson');
  return { ...counts, exported: exported.trim().split('\n').length };
}

const allCounts = (count: number) => ({
  deliveries: count,
  events: count,
  counted: count,
  charted: count,
  conserved: count,
  adds_up: true,
  exported: count,
});

/** Sends to an installation on another server than before, and compares all that came with all that was sent. */
async function continueOn(
  server: DebianPostgres,
  { settingsOn, start, received }: Awaited<ReturnType<typeof createInstallation>>,
  sent: number,
): Promise<void> {
  const program = await start(server);
  await runProgram(settingsOn(server), 'destinations', 'resume', 'file');
  await send(program, sent, sent + 30);
  const all = numbers(sent + 30);
  await waitFor(async () => new Set(await received()).size === all.length);
  // The last batch before may be repeated.
  const came = await received();
  expect([...new Set(came)]).toEqual(all);
  expect(came.length).toBeLessThanOrEqual(all.length + 10);
  await waitFor(async () => (await countedOn(server)) === all.length);
  expect(await countsOn(server, settingsOn(server))).toEqual(allCounts(all.length));
  // Ids of this server that deliveries of the other one have must not count those again.
  await useIds(server, 4_000);
  await send(program, sent + 30, sent + 40);
  await waitFor(async () => (await countedOn(server)) === sent + 40);
  expect(await countsOn(server, settingsOn(server))).toEqual(allCounts(sent + 40));
  const { stdout } = await endOfProgram(settingsOn(server), 'doctor', '--full');
  expect(stdout.toString()).toMatch(/^ok +conservation/m);
  const verified = await endOfProgram(settingsOn(server), 'verify');
  expect(verified.stdout.toString()).toMatch(/ 0 ALTERED, 0 MISSING, 0 INSERTED/);
  await program.end('SIGTERM');
}

describe.skipIf(!hasDebianPostgres)('on another server', () => {
  it('a dump continues: every event is forwarded once, and all counts are right', async () => {
    const [first, second] = [await startServer(), await startServer()];
    const installation = await createInstallation(first);
    const { settingsOn, start, received } = installation;
    await useIds(first, 3_000);
    const program = await start(first);
    await send(program, 0, 30);
    await waitFor(async () => (await received()).length === 30);
    await runProgram(settingsOn(first), 'destinations', 'pause', 'file');
    await send(program, 30, 60);
    await waitFor(async () => (await countedOn(first)) === 60);
    await program.end('SIGTERM');

    await copyDatabase(first, second, settingsOn(first).DATA_DIR);
    const [ids] = await query<{ behind: boolean }>(
      databaseOn(second),
      'select max(xid::text::numeric) > pg_snapshot_xmax(pg_current_snapshot())::text::numeric as behind from deliveries',
    );
    expect(ids).toEqual({ behind: true });
    await continueOn(second, installation, 60);
  }, 180_000);

  it('a restore to a point in time is recognised, and forwards what is stored from then on once', async () => {
    const directory = await directoryForTest();
    // The server runs as another user.
    await chmod(directory, 0o777);
    const [archive, backup] = [path.join(directory, '%f'), path.join(directory, 'backup')];
    const first = await startServer({
      settings: { archive_mode: 'on', archive_command: `cp %p ${archive}` },
    });
    const { settingsOn, start, received } = await createInstallation(first);
    const file = path.join(settingsOn(first).DATA_DIR, 'log-checkpoint');
    const program = await start(first);
    await send(program, 0, 30);
    await backUpServer(first.port, backup);
    await send(program, 30, 60);
    await waitFor(async () => (await received()).length === 60 && (await countedOn(first)) === 60);
    await query(first.url, "select pg_create_restore_point('noon')");
    await send(program, 60, 90);
    await waitFor(async () => (await sealedOn(first)).events === 90);
    const { leaves } = await sealedOn(first);
    // A checkpoint is signed every minute.
    const seen = async () => Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[1]);
    await waitFor(async () => (await seen()) >= leaves, 120_000);
    await program.end('SIGTERM');
    expect(await received()).toEqual(numbers(90));
    await query(first.url, 'select pg_switch_wal()');
    await waitFor(async () => {
      const [state] = await query<{ done: boolean }>(
        first.url,
        'select last_archived_wal >= pg_walfile_name(pg_switch_wal()) as done from pg_stat_archiver',
      );
      return state?.done === true;
    });
    await first.kill();

    const second = await startServer({
      backup,
      files: { 'recovery.signal': '' },
      settings: {
        restore_command: `cp ${archive} %p`,
        recovery_target_name: 'noon',
        recovery_target_action: 'promote',
      },
    });
    await waitFor(async () => {
      const [state] = await query<{ done: boolean }>(second.url, 'select not pg_is_in_recovery() as done');
      return state?.done === true;
    });
    const restored = await start(second);
    await waitFor(() => restored.output().includes('The database is older than'));
    await send(restored, 90, 120);
    await waitFor(async () => new Set(await received()).size === 120 && (await countedOn(second)) === 90);
    // The last batch before the point in time may be repeated.
    const came = await received();
    expect(came.slice(0, 90)).toEqual(numbers(90));
    expect(came.length).toBeLessThanOrEqual(120 + 10);
    expect(came.slice(-30)).toEqual(numbers(120).slice(90));
    expect(await countsOn(second, settingsOn(second))).toEqual(allCounts(90));
    const lost = await endOfProgram(settingsOn(second), 'verify');
    expect(lost.stdout.toString()).toContain('MISSING seen checkpoint');
    await endOfProgram(settingsOn(second), 'verify', '--accept', 'restored to noon');
    const verified = await endOfProgram(settingsOn(second), 'verify');
    expect(verified.stdout.toString()).toMatch(/ 0 ALTERED, 0 MISSING, 0 INSERTED/);
    await restored.end('SIGTERM');
  }, 240_000);
});
