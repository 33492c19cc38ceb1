import { sql } from 'kysely';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import type { Db } from '../../../src/store/server/database.ts';
import { addDestination } from '../../../src/store/destinations/destinations.ts';
import { moveSequences, moveTables, readMonths } from '../../../src/store/move/move-tables.ts';
import { recordAction } from '../../../src/store/access/operator-log.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog, readRange } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';
import { untilSeen } from '../../support/until-seen.ts';

const source = useDatabase({ forEach: true });
const target = useDatabase({ forEach: true });

const never = new AbortController().signal;
const silent = { onTotal: () => undefined, onRow: () => undefined };
const move = (signal = never) => moveTables(source.databaseUrl, target.adminUrl, silent, signal);

const deliver = (events: number) => `
  with delivery as (
    insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
      duplicate_count, quarantined_count, source, message_type, origin)
    values (gen_random_uuid(), now(), 1, ${events}, ${events}, ${events}, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook'))
  insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
  select now(), now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{"a": 1.10}'
  from generate_series(1, ${events})`;

/** Transactions of which the first to begin gets the last ids: in the order of ids, the events change places. */
async function storeCrosswise(databaseUrl: string, count: number): Promise<void> {
  const clients = Array.from({ length: count }, () => new Client({ connectionString: databaseUrl }));
  for (const client of clients) {
    await client.connect();
    await client.query('begin');
    await client.query('select begin_storing()');
  }
  for (const client of clients.toReversed()) {
    await client.query(deliver(3));
    await client.query('commit');
    await client.end();
  }
}

async function readFrom(db: Db, position: number): Promise<string[]> {
  const { events } = await readSlice(openLog(db), ALL_SOURCES, position, 10_000);
  return [...events].map(({ eventId }) => eventId);
}

async function readCursors(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ name: string; position: number }>`
    select name, cursor_position::float8 as position from destinations`.execute(db);
  return new Map(rows.map(({ name, position }) => [name, position]));
}

const countIn = async (db: Db, table: string) =>
  Number((await sql<{ n: string }>`select count(*) as n from ${sql.id(table)}`.execute(db)).rows[0]?.n);

it('keeps what each destination has left to send, whatever the order of transactions and ids was', async () => {
  await storeCrosswise(source.databaseUrl, 4);
  await untilSeen(source.db);
  const { first, next } = await readRange(source.db);
  expect(next - first).toBe(12);
  for (let index = 0; index <= 12; index += 1) await addDestination(source.db, `at ${index}`, first + index);
  // The log does not have these yet.
  await storeCrosswise(source.databaseUrl, 3);
  const before = await readCursors(source.db);
  expect(before.size).toBe(13);

  await move();
  await moveSequences(source.db, target.db);

  await untilSeen(source.db);
  await untilSeen(target.service);
  const after = await readCursors(target.service);
  for (const [name, position] of before) {
    const left = await readFrom(source.db, position);
    const moved = await readFrom(target.service, after.get(name) ?? 0);
    expect(left.length).toBe(21 - Number(name.slice(3)));
    expect(moved.toSorted()).toEqual(left.toSorted());
  }
  // What is stored next comes after all positions.
  const { next: end } = await readRange(target.service);
  await storeCrosswise(target.databaseUrl, 2);
  await untilSeen(target.service);
  expect(await readFrom(target.service, end)).toHaveLength(6);
  for (const [name, position] of after) {
    expect(await readFrom(target.service, position)).toHaveLength(27 - Number(name.slice(3)));
  }
});

it('copies every row of every table but sessions, processes and locks, and continues the ids', async () => {
  await storeCrosswise(source.databaseUrl, 2);
  await sql`insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin,
      payload, user_name, device_ids, host_names)
    values ('2001-02-03T04:05:06.789Z', now(), gen_random_uuid(), gen_random_uuid(), 'tab\there', 'AUDIT_LOG_ALL',
      'webhook', ${JSON.stringify({ text: 'line\nbreak \\N \\. "quoted" 🙂', number: 1e300 })}::jsonb, E'\\\\N', '{1,2}', '{"a,b",null}')`.execute(
    source.db,
  );
  await sql`insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    values (gen_random_uuid(), gen_random_uuid(), now(), 's', 'AUDIT_LOG_ALL', 'not JSON', '\\x00ff0a5c2e')`.execute(
    source.db,
  );
  await sql`insert into accounts (name, role, password_hash) values ('ada', 'admin', 'hash')`.execute(
    source.db,
  );
  await sql`insert into access_tokens (account, digest, label, expires_at)
    values ('ada', sha256('t'), 'token', now() + interval '1 day')`.execute(source.db);
  await sql`insert into sessions (digest, account, expires_at)
    values (sha256('s'), 'ada', now() + interval '1 day')`.execute(source.db);
  const operator = { name: 'ada', via: 'command' } as const;
  await recordAction(source.db, { operator, action: 'access.add', subject: 'ada' }, async () => undefined);

  for (const month of await readMonths(source.db)) {
    await maintainPartitions(target.service, month, {
      audit: undefined,
      location: undefined,
      log: undefined,
    });
  }
  await moveSequences(source.db, target.db);
  const moved = await move();

  expect(moved.map(({ table }) => table)).toEqual(
    expect.arrayContaining([
      'access_tokens',
      'accounts',
      'audit_events',
      'deliveries',
      'operator_log',
      'quarantine',
    ]),
  );
  for (const { table, rows } of moved) {
    const [from, to] = await Promise.all(
      [source.db, target.service].map(async (db) => {
        const { rows: found } = await sql<{ row: Record<string, unknown> }>`
          select to_jsonb(one) - 'xid' - 'next_xid' - 'held_xid' as row from ${sql.id(table)} as one
          order by 1`.execute(db);
        return found;
      }),
    );
    expect(to).toEqual(from);
    expect(rows).toBe(from?.length);
  }
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
      and relnamespace = 'public'::regnamespace`.execute(source.db);
  const left = tables.map(({ name }) => name).filter((name) => !moved.some(({ table }) => table === name));
  expect(left.toSorted()).toEqual([
    'kysely_migration',
    'kysely_migration_lock',
    'locks',
    'processes',
    'sessions',
  ]);
  expect(await countIn(target.service, 'sessions')).toBe(0);
  await recordAction(
    target.service,
    { operator, action: 'access.change', subject: 'ada' },
    async () => undefined,
  );
  await storeCrosswise(target.databaseUrl, 1);
  const { rows: ids } = await sql`select id from events group by id having count(*) > 1`.execute(
    target.service,
  );
  expect(ids).toEqual([]);
});

it('changes nothing when it fails, and can be repeated', async () => {
  await storeCrosswise(source.databaseUrl, 3);
  await addDestination(source.db, 'siem', 0);
  // The last table to be copied that has rows.
  await sql`create function spoil() returns trigger language plpgsql as $$
    begin new.source := 'spoiled'; return new; end $$`.execute(target.db);
  await sql`create trigger spoil before insert on deliveries for each row execute function spoil()`.execute(
    target.db,
  );
  await expect(move()).rejects.toThrow(
    /the copy of deliveries has 3 rows with the digest \d+, and the original 3/,
  );
  for (const table of ['deliveries', 'events', 'destinations'])
    expect(await countIn(target.service, table)).toBe(0);

  const stopped = AbortSignal.abort();
  await expect(move(stopped)).rejects.toThrow('aborted');
  await sql`drop trigger spoil on deliveries`.execute(target.db);
  await move();
  expect(await countIn(target.service, 'events')).toBe(9);
  await expect(move()).rejects.toThrow('The target is not empty: audit_events has rows.');
});

it('refuses a database that another installation uses', async () => {
  await sql`insert into processes (process_id, role, host, pid, version, started_at, figures)
    values (gen_random_uuid(), 'all', 'other.example', 42, '1', now(), '{}')`.execute(target.db);
  await expect(move()).rejects.toThrow('xiq-sink runs on the target (other.example, pid 42). Stop it first.');
});
