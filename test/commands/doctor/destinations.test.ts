import { expect, test } from 'vitest';
import { runChecks } from '../../../src/commands/doctor/check.ts';
import { destinationChecks } from '../../../src/commands/doctor/forwarding.ts';
import { addDestination, checkpoint } from '../../../src/store/destinations/destinations.ts';
import { takeLease } from '../../support/lease.ts';
import { accessTo } from './access-to.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

async function findings(destinations: Parameters<typeof destinationChecks>[0]) {
  const checks = destinationChecks(destinations, accessTo(database));
  const made = runChecks(checks.map(({ needs: _needs, ...check }) => check));
  return Promise.all(made.map(async ({ name, finding }) => ({ name, ...(await finding) })));
}

test('each syslog destination has a line that says what a close can hide, and what is safe', async () => {
  const found = await findings([
    { name: 'siem', type: 'syslog' },
    { name: 'archive', type: 'file' },
  ]);
  expect(found.map(({ name }) => name)).toEqual([
    'destination siem',
    'delivery to siem',
    'destination archive',
  ]);
  expect(found[1]?.status).toBe('ok');
  expect(found[1]?.message).toMatch(/no acknowledgement.*RELP/);
});

test('events that were rejected since the last accepted one are a warning, with the reason', async () => {
  const position = 0;
  await addDestination(database.db, 'web', position);
  const lease = await takeLease(database.db, 'web');
  const rejected = {
    eventId: '00000000-0000-8000-8000-000000000001',
    occurredAt: '2026-05-04T03:02:01.123Z',
    messageType: 'SMS_LOG_ALL' as const,
    reason: 'no such field',
  };
  await checkpoint(database.db, [{ ...lease, position, sent: 0, rejected: [rejected], rejectedInRow: 1 }]);
  const [web] = await findings([{ name: 'web', type: 'https' }]);
  expect(web?.status).toBe('warn');
  expect(web?.message).toBe('running, up to date: rejected an event: no such field');
  expect(web?.remedy).toMatch(/^1 event rejected in a row, none accepted since: /);
});
