import { describe, expect, it } from 'vitest';
import { findErasable } from '../../src/erasure/erase-person.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { endOfCommand } from '../support/command.ts';
import { storeDeliveries } from '../support/actions.ts';

const test = useDatabase({ isVaried: true });
const directory = useDirectory();

const eventsOf = async (user: string) =>
  (
    await findErasable(
      { db: test.service },
      { person: { users: [user], macs: [], phones: [] }, eventIds: [] },
    )
  ).events;

describe('erase', () => {
  const run = (...words: string[]) =>
    endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: directory }, 'erase', ...words);

  it('asks for what it needs', async () => {
    expect(await run('--reason', 'x')).toMatchObject({ code: 2 });
    expect(await run('--user', 'Bob')).toMatchObject({ code: 2 });
    expect(await run('--user', 'Bob', '--reason', 'request 17')).toMatchObject({ code: 2 });
  });

  it('suggests clients whose data the cloud has deleted', async () => {
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
    await storeDeliveries(test.service, queuedDelivery('GDPR_LOG_ALL', [gdpr, ...others]));
    await storeDeliveries(test.service, queuedDelivery('LOCATION_CLIENT_CENTRIC', seen));
    const listed = (await run('--suggest')).stdout;
    expect(listed).toMatch(/^ba:be:00:00:00:01 {2}1 event of the source default, deleted in the cloud at /m);
    for (const client of kept) expect(listed).not.toContain(client);
  });

  it('lists what it found, and erases nothing of several sources unless that is said', async () => {
    const found = await eventsOf('Bob');
    expect(found.length).toBeGreaterThan(10);
    const listed = await run('--user', 'Bob', '--dry-run');
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain('audit_events  2026-01  ');
    expect(await eventsOf('Bob')).toHaveLength(found.length);

    const unscoped = await run('--user', 'Bob', '--reason', 'request 17', '--yes');
    expect([unscoped.code, unscoped.stderr]).toEqual([
      2,
      expect.stringContaining('These events belong to 2 sources: branch, default. Add --source NAME'),
    ]);
    const ofBranch = await run('--user', 'Bob', '--source', 'branch', '--dry-run');
    expect(ofBranch.stdout).not.toBe(listed.stdout);
  });
});
