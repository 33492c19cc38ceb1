import { exactTerms } from '../../../src/events/search-query.ts';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { adoptServer, assignPositions } from '../../../src/store/log/extend-log.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog, positionOf, positionsSince } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { emptyTables } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';

const test = useDatabase();
beforeEach(() => emptyTables(test.db));

const TIME = '2026-03-01T10:00:00.000Z';

/** The statement that stores a delivery of events with these numbers, in the order of the list. */
const insert = (numbers: readonly number[], receivedAt = TIME, delivery: string = randomUUID()) => `
  insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, user_id, place, payload)
  select '2026-03-01T09:00:00Z'::timestamptz + number * interval '1.5 ms', '${receivedAt}', gen_random_uuid(), '${delivery}', 's' || number % 3, 'AUDIT_LOG_ALL',
    'webhook', number, number, '{}'
  from unnest(array[${numbers.join()}]::bigint[]) with ordinality as given (number, place) order by given.place desc`;

async function readAll(from = 0): Promise<{ numbers: number[]; positions: number[] }> {
  const log = openLog(test.db);
  const numbers: number[] = [];
  const positions: number[] = [];
  for (let position = from; ;) {
    const { events, end } = await readSlice(log, ALL_SOURCES, position, 100);
    if (end === undefined) return { numbers, positions };
    for (const event of events) {
      numbers.push(Number(event.columns['user_id']));
      positions.push(event.position);
    }
    position = end;
  }
}

const range = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index);

describe('the log', () => {
  it('gives the events of a delivery dense positions in the order of the delivery', async () => {
    const { next } = await openLog(test.db).range();
    await sql.raw(insert(range(1_000))).execute(test.db);
    await untilSeen(test.db);
    const { numbers, positions } = await readAll();
    expect(numbers).toEqual(range(1_000));
    expect(positions).toEqual(range(1_000, next));
  });

  it('keeps the events of deliveries apart that were received at the same time', async () => {
    const deliveries = ['a', 'b'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`);
    await sql.raw(insert([2, 4], TIME, deliveries[1])).execute(test.db);
    await sql.raw(insert([1, 3], TIME, deliveries[0])).execute(test.db);
    await untilSeen(test.db);
    expect((await readAll()).numbers).toEqual([1, 3, 2, 4]);
  });

  it('takes events once that were received at the same time, on both sides of what it has taken of the held ones', async () => {
    const { next } = await openLog(test.db).range();
    const at = '2026-03-01T10:00:00.500Z';
    await sql.raw(insert([1], at)).execute(test.db);
    expect(await assignPositions(test.db, 1)).toMatchObject({ added: 0 });
    await sql.raw(insert([2], at)).execute(test.db);
    await sql.raw(insert([3], '2026-03-01T10:00:00.501Z')).execute(test.db);
    // The first has waited, the second was received with it, and the third is held.
    await waitFor(async () => (await assignPositions(test.db, 1))?.added === 2);
    await untilSeen(test.db);
    const { numbers, positions } = await readAll(next);
    expect(numbers.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(positions).toEqual([next, next + 1, next + 2]);
  });

  it('lets events that were received earlier overtake those that were stored earlier, while these are held', async () => {
    const { next } = await openLog(test.db).range();
    const at = (millisecond: number) => `2026-03-01T10:00:01.00${millisecond}Z`;
    await sql.raw(insert([2], at(2))).execute(test.db);
    // Seen, and held from now on.
    expect(await assignPositions(test.db, 1)).toMatchObject({ added: 0, isMore: true });
    await sql.raw(insert([1], at(1))).execute(test.db);
    await sql.raw(insert([3], at(3))).execute(test.db);
    expect(await assignPositions(test.db, 60_000)).toMatchObject({ added: 0, isMore: true });
    const { added, isMore } = await waitFor(async () => {
      const extension = await assignPositions(test.db, 1);
      return extension !== undefined && extension.added > 0 ? extension : undefined;
    });
    expect({ added, isMore }).toEqual({ added: 2, isMore: true });
    expect((await readAll(next)).numbers).toEqual([1, 2]);
    await untilSeen(test.db);
    expect((await readAll(next)).numbers).toEqual([1, 2, 3]);
  });

  it('leaves out nothing that is held, when the horizon is lower than before', async () => {
    const { next } = await openLog(test.db).range();
    const at = (millisecond: number) => `2026-03-01T10:00:02.00${millisecond}Z`;
    await sql.raw(insert([2], at(2))).execute(test.db);
    await test.db.connection().execute(async (storing) => {
      await sql`begin`.execute(storing);
      await sql`select begin_storing()`.execute(storing);
      await sql.raw(insert([9], at(9))).execute(storing);
      await sql.raw(insert([1], at(1))).execute(test.db);
      // As if both had been below the horizon of the last look.
      await test.query`update log_state set held_xid = pg_snapshot_xmax(pg_current_snapshot()), held_since = now() - interval '1 s'`;
      await assignPositions(test.db, 1);
      await sql`rollback`.execute(storing);
    });
    await untilSeen(test.db);
    expect((await readAll(next)).numbers).toEqual([1, 2]);
  });

  it('takes nothing twice when so much is stored beside held events that it takes several steps', async () => {
    const { next } = await openLog(test.db).range();
    const at = (millisecond: number) => `2026-03-01T10:00:03.0${millisecond}Z`;
    const store = (numbers: number[], millisecond: number) =>
      sql.raw(insert(numbers, at(millisecond))).execute(test.db);
    const extend = (stepEvents?: number) =>
      waitFor(async () => {
        const extension = await assignPositions(test.db, 1, stepEvents);
        return extension !== undefined && extension.added > 0 ? extension : undefined;
      });
    await store([1], 50);
    expect(await assignPositions(test.db, 1)).toMatchObject({ added: 0 });
    await store(range(30, 100), 90);
    await store(range(5, 200), 10);
    // The five were received before the first one, which has waited.
    expect(await extend()).toMatchObject({ added: 6 });
    await store(range(30, 300), 95);
    await extend(20);
    await untilSeen(test.db);
    const { numbers } = await readAll(next);
    expect(numbers).toEqual([...range(5, 200), 1, ...range(30, 100), ...range(30, 300)]);
  });

  it('finds the position of an event, and the first one received since a time', async () => {
    for (const minute of range(6)) {
      const count = minute < 5 ? 100 : 1;
      await sql.raw(insert(range(count, minute * 100), `2026-03-01T10:0${minute}:00.000Z`)).execute(test.db);
      // The last two events are in one tile.
      if (minute !== 5) await untilSeen(test.db);
    }
    const log = openLog(test.db);
    const { first, next } = await log.range();
    const { events } = await readSlice(log, ALL_SOURCES, first, 500);
    for (const event of [...events].filter((_, index) => index % 97 === 0)) {
      expect(await positionOf(test.db, event)).toBe(event.position);
      expect(await positionOf(test.db, { ...event, eventId: randomUUID() })).toBeUndefined();
    }
    const times = ['2026-03-01T10:03:00Z', '2026-03-01T10:00:00Z', '2027-01-01T00:00:00Z'];
    const positions = await positionsSince(
      test.db,
      times.map((time) => new Date(time)),
    );
    expect(positions).toEqual([first + 200, first, next]);
    for (const [time, position] of [
      ['2026-03-01T10:06:00Z', next - 1],
      ['2027-01-01T00:00:00Z', next],
    ] as const) {
      expect(await positionsSince(test.db, [new Date(time)])).toEqual([position]);
    }
  });

  it('is read once for a hundred readers who share it', async () => {
    await sql.raw(insert(range(2_000))).execute(test.db);
    await untilSeen(test.db);
    let queries = 0;
    const counting = test.db.withPlugin({
      transformQuery({ node }) {
        queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const log = openLog(counting, 60_000);
    const { first } = await log.range();
    const readers = await Promise.all(
      range(100).map(async (reader) => {
        const { events } = await readSlice(log, ALL_SOURCES, first + reader, 1_500, {
          terms: exactTerms({ type: 'OTHER' }),
        });
        return [...events];
      }),
    );
    expect(readers.flat()).toEqual([]);
    // The range, the kinds, the tiles, and those that the last readers need beyond.
    expect(queries).toBeLessThanOrEqual(6);
  });

  it('gives all entries of a range that is longer than what is kept', async () => {
    await sql.raw(insert(range(33_000))).execute(test.db);
    await untilSeen(test.db);
    const log = openLog(test.db);
    const { first } = await log.range();
    expect(await log.read(first, 33_000)).toHaveLength(33_000);
  });

  it('is read anew after an older copy of it, or another server, has taken its place', async () => {
    await sql.raw(insert(range(3))).execute(test.db);
    await untilSeen(test.db);
    const log = openLog(test.db);
    const { first, next, timeline } = await log.range();
    expect(timeline).toMatch(/^[0-9A-F]{8}$/);
    const idsIn = async () => (await log.read(first, 10)).map(({ eventId }) => eventId);
    const before = await idsIn();
    expect(before).toHaveLength(3);
    // As if the last commits were lost.
    await test.query`update log_tiles set kinds = kinds[:1], occurred_at = occurred_at[:1], event_ids = event_ids[:1]`;
    await test.query`update log_state set next_position = ${first + 1}`;
    expect(await idsIn()).toEqual(before.slice(0, 1));
    await sql.raw(insert([4])).execute(test.db);
    await test.query`update log_state set next_xid = held_xid`;
    await untilSeen(test.db);
    const after = await idsIn();
    expect(after.slice(0, 1)).toEqual(before.slice(0, 1));
    expect(before).not.toContain(after[1]);
    expect((await log.range()).next).toBeLessThan(next);
    for (const damage of ["kinds = '{99}'", "occurred_at = '{}'", "event_ids = '{}'"]) {
      const trx = await test.db.startTransaction().execute();
      await sql.raw(`update log_tiles set ${damage}`).execute(trx);
      await expect(openLog(trx).read(first, 1)).rejects.toThrow(`position ${first} is damaged`);
      await trx.rollback().execute();
    }
  });

  it('continues on a server with lower transaction ids with what it does not have', async () => {
    await sql.raw(insert([1])).execute(test.db);
    await untilSeen(test.db);
    // As in a dump: an event that the log did not have yet, with a transaction id that this server has yet to reach.
    await test.query`update log_state set next_xid = '1000000000', held_xid = '1000000000', server = 'another'`;
    await sql
      .raw(
        insert([2])
          .replace('user_id', 'xid, user_id')
          .replace('number, number,', "'1000000001', number, number,"),
      )
      .execute(test.db);
    // Stored on this server before it was noticed.
    await sql.raw(insert([3])).execute(test.db);
    await adoptServer(test.db);
    expect(await assignPositions(test.db)).toMatchObject({ isNewServer: false, added: 0 });
    await sql.raw(insert([4])).execute(test.db);
    await untilSeen(test.db);
    const { numbers } = await readAll();
    expect(numbers.slice(0, 1)).toEqual([1]);
    expect(numbers.slice(1, 3).toSorted((a, b) => a - b)).toEqual([2, 3]);
    expect(numbers.slice(3)).toEqual([4]);
  });
});
