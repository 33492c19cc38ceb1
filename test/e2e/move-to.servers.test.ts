import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { query } from '../support/query.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { openBatchQueue } from '../../src/queue/batch-queue.ts';
import { hasDebianPostgres, startDebianPostgres, type DebianPostgres } from '../support/debian-postgres.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import {
  endOfProgram,
  killProgramWhen,
  postDelivery,
  runProgram,
  SECRET,
  startProgram,
} from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

describe.skipIf(!hasDebianPostgres)('move-to', () => {
  const directory = useDirectory();
  let server: DebianPostgres;
  let program: Program | undefined;
  beforeAll(async () => {
    server = await startDebianPostgres();
    await onServer('postgres', 'create database xiq_sink');
  });
  afterAll(async () => {
    await program?.end('SIGKILL');
    await server.stop();
  });

  const onServer = (database: string, statement: string) =>
    query(server.url.replace(/postgres$/, database), statement);

  const urlFor = (role: string, port: number, database: string) =>
    `postgresql://${role}:password-of-${role}@127.0.0.1:${port}/${database}`;
  const file = (name: string) => path.join(directory, `${name}.jsonl`);
  const settings = (more: Record<string, string> = {}) => ({
    DATA_DIR: path.join(directory, 'data'),
    WEBHOOK_SECRET: SECRET,
    XIQ_SINK_CONFIG: path.join(directory, 'settings.yaml'),
    ...more,
  });

  /** Sends events with these numbers, each in a delivery of its own. */
  async function send(from: number, to: number): Promise<void> {
    for (let number = from; number < to; number += 1) {
      const response = await postDelivery({ url: program?.url ?? '' }, 'AUDIT_LOG_ALL', [
        auditRecord({ userId: number }),
      ]);
      expect(response.status).toBe(200);
    }
  }

  /** The numbers that a destination has received, in ascending order, each as often as it came. */
  async function received(name: string): Promise<number[]> {
    const lines = (await readFile(file(name), 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '');
    return lines.map((line) => Number(/"userId":(\d+)/.exec(line)?.[1])).toSorted((a, b) => a - b);
  }

  async function refused(env: Record<string, string>, ...args: string[]): Promise<string> {
    const { code, stderr } = await endOfProgram(env, ...args);
    expect(code).toBe(2);
    return stderr;
  }

  const numbers = (to: number) => Array.from({ length: to }, (_, index) => index);

  it('moves everything to an older Postgres with few transactions; forwarding loses and doubles nothing', async () => {
    const destinations = ['steady', 'paused'].map((name) => ({ name, type: 'file', path: file(name) }));
    // JSON is YAML.
    await writeFile(settings().XIQ_SINK_CONFIG, JSON.stringify({ destinations }));
    program = await startProgram(settings());
    await send(0, 30);
    await waitFor(async () => (await received('paused')).length === 30);
    await runProgram(settings(), 'destinations', 'pause', 'paused');
    await send(30, 60);
    await waitFor(async () => (await received('steady')).length === 60);

    const target = urlFor('xiq_sink', server.port, 'xiq_sink');
    const roles = {
      BOOTSTRAP_DATABASE_URL: server.url,
      READER_DATABASE_URL: urlFor('xiq_reader', server.port, 'xiq_sink'),
    };
    expect(await refused(settings(roles), 'move-to', target)).toMatch(/is running on .*Stop it first/);
    expect(await program.end('SIGTERM')).toBe(0);
    await leaveJobsAndUseIds();

    await killInTheMiddle(roles, target);

    const printed = await runProgram(settings(roles), 'move-to', target, '--json');
    expect(printed).toMatch(/^\{"table":"audit_events","rows":70,"digest":"\d{10,}"\}$/m);
    // The killed one had left it running.
    const files = await readdir(settings().DATA_DIR, { recursive: true });
    expect(files.filter((name) => name.endsWith('postmaster.pid'))).toEqual([]);

    expect(await refused(settings(), 'serve')).toContain(
      `was moved to 127.0.0.1:${server.port}. Set DATABASE_URL.`,
    );
    // As after a kill between the commit and the mark.
    const mark = path.join(settings().DATA_DIR, 'postgres', 'moved');
    await rename(mark, `${mark}.away`);
    expect(await refused(settings(roles), 'move-to', target)).toMatch(
      /The target is not empty.*If an earlier move-to succeeded, set DATABASE_URL/,
    );
    await rename(`${mark}.away`, mark);
    const moved = { ...settings(), DATABASE_URL: target };
    expect(await refused(moved, 'move-to', target)).toContain('already uses a server');
    program = await startProgram(moved);
    await send(70, 90);
    await runProgram(moved, 'destinations', 'resume', 'paused');
    for (const name of ['steady', 'paused']) {
      await waitFor(async () => (await received(name)).length >= 90);
      expect(await received(name)).toEqual(numbers(90));
    }
    const [sums] = await onServer(
      'xiq_sink',
      'select sum(delivery_count)::int as deliveries, bool_and(adds_up) as adds_up from conservation',
    );
    expect(sums).toEqual({ deliveries: 90, adds_up: true });
    const [action] = await onServer(
      'xiq_sink',
      `select outcome, subject from operator_log where action = 'database.move'`,
    );
    expect(action).toEqual({ outcome: 'done', subject: `127.0.0.1:${server.port}` });
    await program.end('SIGTERM');
  });

  /** Kills a move that has copied a part of the events. Nothing of it is on the server afterwards. */
  async function killInTheMiddle(roles: Record<string, string>, target: string): Promise<void> {
    // The roles exist only now.
    await runProgram({ ...settings(roles), DATABASE_URL: target }, 'migrate');
    const locker = new Client({ connectionString: server.url.replace(/postgres$/, 'xiq_sink') });
    await locker.connect();
    await locker.query('begin; lock table log_entries in share mode');
    const isWaiting = async () => {
      const rows = await onServer(
        'xiq_sink',
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'copy "log_entries"%'`,
      );
      return rows.length > 0;
    };
    await killProgramWhen(isWaiting, settings(roles), 'move-to', target);
    await locker.end();
    await waitFor(async () => !(await isWaiting()));
    expect(await onServer('xiq_sink', 'select from audit_events limit 1')).toEqual([]);
  }

  /** Deliveries that wait in the queue, and ids of transactions far beyond those of the new server. */
  async function leaveJobsAndUseIds(): Promise<void> {
    const embedded = await startEmbeddedPostgres(settings().DATA_DIR);
    const queue = openBatchQueue(
      { kind: 'postgres', databaseUrl: embedded.databaseUrl },
      pino({ level: 'silent' }),
    );
    await query(
      embedded.databaseUrl,
      `do $$ begin for i in 1..5000 loop perform pg_current_xact_id(); commit; end loop; end $$`,
    );
    for (let number = 60; number < 70; number += 1) {
      await queue.add([queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userId: number })])]);
    }
    await queue.close();
    await embedded.stop();
  }
});
