import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { findErasable } from '../../src/erasure/erase-person.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { endOfCommand } from '../support/command.ts';
import { SECRET, startProgram } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase({ isVaried: true });
let directory: string;
beforeAll(async () => {
  const log = await openSealedLog(test.service);
  await log.seal();
  ({ directory } = log);
});

const eventsOf = async (user: string) =>
  (await findErasable(test.service, { person: { users: [user], macs: [], phones: [] }, eventIds: [] }))
    .events;

describe('erase', () => {
  const run = (...words: string[]) =>
    endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: directory }, 'erase', ...words);

  it('asks for what it needs', async () => {
    expect(await run('--reason', 'x')).toMatchObject({ code: 2 });
    expect(await run('--user', 'Bob')).toMatchObject({ code: 2 });
    expect(await run('--user', 'Bob', '--reason', 'request 17')).toMatchObject({ code: 2 });
  });

  it('suggests clients whose data the cloud has deleted, and serve erases them if it may', async () => {
    const storing = new BatchStore(test.service, pino({ level: 'silent' }), new AbortController().signal);
    const mac = 'ba:be:00:00:00:01';
    const gdpr = { logId: 1, category: 'DELETE', status: 'COMPLETED', mac, admin: 'dpo', startTime: 1 };
    const kept = ['ba:be:00:00:00:02', 'ba:be:00:00:00:03', 'ba:be:00:00:00:04'];
    const seen = [mac, ...kept].map((clientMac) => ({
      clientMac,
      apMac: '00:11:22:33:44:55',
      timestamp: Date.now() - 60_000,
    }));
    const others = [{ status: 'FAILED' }, { status: 'IN_PROGRESS' }, { category: 'DOWNLOAD OR DELETE' }].map(
      (members, at) => ({ ...gdpr, ...members, logId: at + 2, mac: kept[at] }),
    );
    await storing.add({ deliveries: [queuedDelivery('GDPR_LOG_ALL', [gdpr, ...others])] });
    await storing.add({ deliveries: [queuedDelivery('LOCATION_CLIENT_CENTRIC', seen)] });
    const listed = (await run('--suggest')).stdout;
    expect(listed).toMatch(/^ba:be:00:00:00:01 {2}1 event of the source default, which says at /m);
    for (const client of kept) expect(listed).not.toContain(client);

    const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory, GDPR_ERASURE: 'auto' };
    const program = await startProgram({ ...settings, WEBHOOK_SECRET: SECRET });
    const clients = listed.trim().split('\n').length;
    await waitFor(() => program.output().split('the events of a client were erased').length - 1 === clients);
    await program.end('SIGTERM');
    expect((await run('--suggest')).stdout).toContain('No events of clients');
  });

  it('lists what it found, erases it, and records nothing of it', async () => {
    const found = await eventsOf('Bob');
    expect(found.length).toBeGreaterThan(10);
    const listed = await run('--user', 'Bob', '--dry-run');
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain('audit_events  2026-01  ');
    expect(await eventsOf('Bob')).toHaveLength(found.length);

    const unscoped = await run('--user', 'Bob', '--reason', 'request 17', '--yes');
    expect([unscoped.code, unscoped.stderr]).toEqual([
      2,
      expect.stringContaining('These events are of 2 sources: branch, default. Add --source NAME'),
    ]);
    const ofBranch = await run('--user', 'Bob', '--source', 'branch', '--dry-run');
    expect(ofBranch.stdout).not.toBe(listed.stdout);
    const erased = await run('--user', 'Bob', '--all-sources', '--reason', 'request 17', '--yes');
    expect(erased.code).toBe(0);
    expect(erased.stdout).toContain(`, ${found.length} events\n`);
    expect(await eventsOf('Bob')).toEqual([]);
    const { rows } = await sql<{ all: string }>`
      select string_agg(concat_ws(' ', subject, details::text, result::text), ' ') as all from operator_log`.execute(
      test.db,
    );
    expect(rows[0]?.all).toContain('request 17');
    expect(rows[0]?.all).not.toContain('Bob');
    expect((await run('--user', 'Bob', '--reason', 'x', '--yes')).stdout).toContain('nothing was found');
  });
});
