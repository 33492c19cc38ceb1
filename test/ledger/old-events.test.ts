import { promises as fs } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { listDestinations, takeLeases } from '../../src/store/destinations.ts';
import { extendLog, OLD_STEP } from '../../src/store/extend-log.ts';
import { migrateStore } from '../../src/store/migrate.ts';
import { readStretch } from '../../src/store/read-events.ts';
import { openLog, readRange } from '../../src/store/read-log.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createOwnedDatabase } from '../support/database.ts';
import type { OwnedDatabase } from '../support/database.ts';
import { holderOf } from '../support/lease.ts';
import { untilSeen } from '../support/until-seen.ts';

const OLD_EVENTS = 2 * OLD_STEP + 1_234;

let owned: OwnedDatabase;
beforeEach(async () => {
  owned = await createOwnedDatabase();
});
afterEach(() => owned.drop());

async function store(db: Db, table: string, messageType: string, from: number, to: number): Promise<void> {
  await sql`
    insert into ${sql.table(table)} (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select '2026-01-01'::timestamptz + make_interval(secs => number), '2026-01-01'::timestamptz + make_interval(secs => number), gen_random_uuid(), gen_random_uuid(), 's',
      ${messageType}, 'webhook', jsonb_build_object('number', number)
    from generate_series(${from}::int, ${to}::int) as number`.execute(db);
}

async function readNumbers(db: Db, from: number): Promise<number[]> {
  const log = openLog(db);
  const numbers: number[] = [];
  for (let position = from; ;) {
    const { events, end } = await readStretch(log, ALL_SOURCES, position, 5_000);
    if (end === undefined) return numbers;
    numbers.push(...[...events].map(({ payload }) => Number(payload['number'])));
    position = end;
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

it(
  'events and cursors of before the log get their positions, the latest first',
  { timeout: 60_000 },
  async () => {
    const { db, admin } = owned;
    const provider = new FileMigrationProvider({ fs, path, migrationFolder: path.resolve('migrations') });
    expect((await new Migrator({ db, provider }).migrateTo('0019_coverage')).error).toBeUndefined();
    const half = OLD_EVENTS / 2;
    await store(db, 'audit_events', 'AUDIT_LOG_ALL', 1, half);
    await store(db, 'log_entries', 'SMS_LOG_ALL', half + 1, OLD_EVENTS);
    const left = new Map([
      ['none', 0],
      ['few', 7],
      ['many', OLD_STEP + 5],
      ['most', OLD_EVENTS - 3],
      ['all', OLD_EVENTS],
    ]);
    for (const [name, count] of left) {
      await sql`
      insert into destinations (name, cursor_xid, cursor_id)
      select ${name}, coalesce(max(xid::text::bigint), 0)::text::xid8, coalesce(max(id), 0)
      from (select xid, id from events order by events.xid, id limit ${OLD_EVENTS - count}) as done`.execute(
        admin,
      );
    }

    await migrateStore(db);
    await store(db, 'audit_events', 'AUDIT_LOG_ALL', OLD_EVENTS + 1, OLD_EVENTS + 10);
    expect(await extendLog(db)).toMatchObject({ added: 10, addedOld: OLD_STEP });
    // Usable at once, while the others wait.
    const leases = await takeLeases(db, [holderOf('few'), holderOf('many')], 30);
    expect([...leases.keys()]).toEqual(['few']);
    expect(await readNumbers(db, leases.get('few')?.position ?? 0)).toEqual(
      range(OLD_EVENTS - 6, OLD_EVENTS + 10),
    );

    await untilSeen(db);
    for (const { name, cursor_position: position, behind_count: behind } of await listDestinations(db)) {
      const count = (left.get(name) ?? 0) + 10;
      expect(behind).toBe(count);
      expect(await readNumbers(db, Number(position))).toEqual(
        range(OLD_EVENTS + 11 - count, OLD_EVENTS + 10),
      );
    }
    const { first, next } = await readRange(db);
    expect(next - first).toBe(OLD_EVENTS + 10);
  },
);
