import { expect, it } from 'vitest';
import { storeAudits, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

const deliver = (...users: readonly string[]) =>
  storeDeliveries(
    test.service,
    queuedDelivery(
      'AUDIT_LOG_ALL',
      users.map((userName) => auditRecord({ userName, timeStamp: Date.UTC(2026, 2, 1) })),
    ),
    // What has something to set aside is inserted row by row, and not copied.
    unreadableDelivery('x'),
  );

it('a row that the database drops is no duplicate: its record goes to quarantine, and a real duplicate does not', async () => {
  await deliver('ann');
  await test.query`
    create function drop_bob() returns trigger language plpgsql as
      $$ begin return case when new.user_name <> 'bob' then new end; end $$;
    create trigger drop_bob before insert on audit_events for each row execute function drop_bob()`;
  await deliver('ann', 'bob', 'zoe');
  const rows = await test.query`
    select event_count as events, duplicate_count as duplicates, quarantined_count as quarantined from deliveries
    where record_count = 3`;
  expect(rows).toEqual([{ events: 1, duplicates: 1, quarantined: 1 }]);
  const items = await test.query<{ reason: string; content: string }>`
    select reason, convert_from(content, 'UTF8') as content from quarantine where reason like 'Postgres %'`;
  expect(items).toHaveLength(1);
  expect(items[0]?.reason).toContain('xiq-sink doctor');
  expect(items[0]?.content).toContain('bob');
});

it('a copy of which the database drops a row is found by verify, with the trigger that did it', async () => {
  const log = await openSealedLog(test.service);
  await storeAudits(test.service, { userName: 'bob', code: 7 });
  await log.seal();
  const { findings } = await log.verify();
  expect(findings.map(({ state, subject, key }) => [state, subject, key])).toEqual(
    expect.arrayContaining([
      ['ALTERED', 'schema', 'trigger drop_bob on audit_events'],
      ['ALTERED', 'delivery', undefined],
    ]),
  );
});
