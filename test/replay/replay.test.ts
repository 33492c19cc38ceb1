import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { replayChosen } from '../../src/commands/quarantine/resolve.ts';
import { replayQuarantined, type ReplayContext } from '../../src/replay/replay.ts';
import { discardQuarantined } from '../../src/store/quarantine/quarantine.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { openLimited } from '../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { emptyTables } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

const test = useDatabase();
let context: ReplayContext;
beforeAll(async () => {
  const giveUp = new AbortController().signal;
  context = {
    db: test.db,
    logger: pino({ level: 'silent' }),
    maxBodyBytes: 1024 * 1024,
    scope: ALL_SOURCES,
    giveUp,
  };
});
beforeEach(() => emptyTables(test.db));

const store = (...deliveries: QueuedDelivery[]) => storeDeliveries(test.db, ...deliveries);

/** Stores while the database refuses records of code 666. */
async function storePoisoned(delivery: QueuedDelivery): Promise<void> {
  await test.query`alter table audit_events add constraint poison check (code <> 666)`;
  try {
    await store(delivery);
  } finally {
    await test.query`alter table audit_events drop constraint poison`;
  }
}

/** Replays while the database fails to mark these items. */
async function whileMarkingDies<T>(ids: readonly string[], replay: () => Promise<T>): Promise<T> {
  await test.query`create function die() returns trigger language plpgsql as $$ begin
    if new.quarantine_id = any (${sql.lit(`{${ids.join()}}`)}::uuid[]) then raise 'died'; end if;
    return new; end $$;
    create trigger die before update on quarantine for each row execute function die()`;
  try {
    return await replay();
  } finally {
    await test.query`drop function die cascade`;
  }
}

/** A delivery whose whole body is unreadable. */
const unreadable = (body: Buffer, encoding: string | null = null) =>
  unreadableDelivery(body, {
    unreadable: [{ reason: 'the body is not JSON', content: body.toString('base64'), encoding }],
  });

const quarantined = () =>
  test.db.selectFrom('quarantine').selectAll().orderBy('resolved_at').orderBy('quarantine_id').execute();

const idsOf = (rows: readonly { quarantine_id: string }[]) => rows.map(({ quarantine_id }) => quarantine_id);

const eventIds = async () =>
  (await test.query<{ event_id: string }>`select event_id from audit_log order by 1`).map(
    (row) => row.event_id,
  );

async function conservation(): Promise<unknown> {
  const rows = await test.query`
    select adds_up, open_count::int as open, replayed_count::int as replayed, discarded_count::int as discarded
    from conservation`;
  return rows[0];
}

describe('a replay', () => {
  it('stores a record that Postgres refused before, as the event that it would have been', async () => {
    const record = auditRecord({ code: 666, timeStamp: 1_760_000_000_000, orgId: null });
    const delivery = queuedDelivery('AUDIT_LOG_ALL', [record], {
      receivedAt: 1_760_000_000_000,
      origin: 'backfill',
      secretForm: 'hmac',
    });
    await storePoisoned(delivery);
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 0, discarded: 0 });

    const [outcome] = await replayQuarantined(context, idsOf(await quarantined()));
    expect(outcome).toMatchObject({ kind: 'replayed', events: 1, duplicates: 0, again: [] });
    expect(await eventIds()).toEqual(deliveryToEvents(delivery).events.map(({ eventId }) => eventId));
    const rows = await test.query`select occurred_at, received_at, origin, code from audit_log`;
    const at = new Date(1_760_000_000_000);
    expect(rows).toEqual([{ occurred_at: at, received_at: at, origin: 'backfill', code: '666' }]);
    const made = test.db.selectFrom('deliveries').selectAll().where('delivery_id', '<>', delivery.deliveryId);
    expect(await made.executeTakeFirst()).toMatchObject({ secret_form: 'hmac', received_at: at });
    expect(await conservation()).toEqual({ adds_up: true, open: 0, replayed: 1, discarded: 0 });
  });

  it('stores identical records of one body as often as they were there', async () => {
    const twin = auditRecord({ code: 666 });
    const delivery = queuedDelivery('AUDIT_LOG_ALL', [twin, twin, auditRecord({ code: 666, id: 3 }), twin]);
    await storePoisoned(delivery);
    for (const id of idsOf(await quarantined())) await replayQuarantined(context, [id]);
    const ids = deliveryToEvents(delivery).events.map(({ eventId }) => eventId);
    expect(await eventIds()).toEqual(ids.toSorted());
  });

  it('keeps their number through a replay that failed', async () => {
    const twin = auditRecord({ code: 666 });
    const delivery = queuedDelivery('AUDIT_LOG_ALL', [twin, twin]);
    await storePoisoned(delivery);
    await test.query`alter table audit_events add constraint poison check (code <> 666)`;
    await replayQuarantined(context, idsOf(await quarantined()));
    await test.query`alter table audit_events drop constraint poison`;
    await replayQuarantined(context, idsOf(await quarantined()));
    expect(await eventIds()).toHaveLength(2);
    expect(await conservation()).toEqual({ adds_up: true, open: 0, replayed: 4, discarded: 0 });
  });

  it('is done once: asked again, it says when and as which delivery', async () => {
    await storePoisoned(queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 666 })]));
    const ids = idsOf(await quarantined());
    const [first] = await replayQuarantined(context, ids);
    const [second] = await replayQuarantined(context, ids);
    const [row] = await quarantined();
    const deliveryId = first?.kind === 'replayed' ? first.deliveryId : undefined;
    expect(second).toMatchObject({ kind: 'resolved', resolution: 'replayed', deliveryId });
    expect(row).toMatchObject({ resolution: 'replayed', replay_delivery_id: deliveryId });
    expect(await eventIds()).toHaveLength(1);
  });

  it('does not hold up the others of its group when it fails unforeseen', async () => {
    await store(unreadable(Buffer.from('[{"code":1}]')), unreadable(Buffer.from('[{"code":2}]')));
    const ids = idsOf(await quarantined());
    const [bad = ''] = ids;
    const lines: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    const outcomes = await whileMarkingDies([bad], () => replayQuarantined({ ...context, logger }, ids));
    expect(lines.join()).toContain(bad);
    expect(outcomes).toMatchObject([
      { quarantineId: bad, kind: 'refused', reason: 'died' },
      { kind: 'replayed', events: 1 },
    ]);
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 1, discarded: 0 });
  });

  it('completes however many run at the same time on the connections of the console', async () => {
    const records = Array.from({ length: 20 }, (_, id) => auditRecord({ code: 666, id }));
    await storePoisoned(queuedDelivery('AUDIT_LOG_ALL', records));
    const ids = idsOf(await quarantined());
    const db = openLimited('console', test.databaseUrl, () => undefined);
    const outcomes = await Promise.all(ids.map((id) => replayQuarantined({ ...context, db }, [id])));
    await db.destroy();
    expect(outcomes.flat().map(({ kind }) => kind)).toEqual(ids.map(() => 'replayed'));
    expect(await eventIds()).toHaveLength(20);
  });

  it('is done by one of two who ask at the same time', async () => {
    await storePoisoned(queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 666 })]));
    const ids = idsOf(await quarantined());
    const both = await Promise.all([replayQuarantined(context, ids), replayQuarantined(context, ids)]);
    expect(
      both
        .flat()
        .map(({ kind }) => kind)
        .toSorted(),
    ).toEqual(['replayed', 'resolved']);
    expect(await eventIds()).toHaveLength(1);
  });

  it('stores nothing when it fails before the item is marked, and everything once when it is repeated', async () => {
    const broken = unreadable(Buffer.from('[{"code":1},"x"]'));
    await store(broken);
    const ids = idsOf(await quarantined());
    const first = await whileMarkingDies(ids, () => replayQuarantined(context, ids));
    expect(first).toMatchObject([{ kind: 'refused', reason: 'died' }]);
    expect(await eventIds()).toEqual([]);
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 0, discarded: 0 });
    const [outcome] = await replayQuarantined(context, ids);
    expect(outcome).toMatchObject({
      kind: 'replayed',
      events: 1,
      again: [{ reason: 'the record is not a JSON object' }],
    });
    expect(await eventIds()).toHaveLength(1);
    expect(await quarantined()).toHaveLength(2);
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 1, discarded: 0 });
  });

  it('leaves open what still cannot be read, and keeps no second copy of it', async () => {
    await store(unreadable(Buffer.from('[{"code":1}')));
    const before = await quarantined();
    const outcomes = await replayQuarantined(context, idsOf(before));
    expect(outcomes).toMatchObject([{ kind: 'refused', reason: 'the body is not JSON' }]);
    expect(await quarantined()).toEqual(before);
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 0, discarded: 0 });
  });

  it('stores a body that was set aside whole for its size, but for the one record that is too large', async () => {
    const twin = auditRecord({ id: 9_223_372_036 });
    const large = auditRecord({ description: 'x'.repeat(2 * 1024 * 1024) });
    const records = [...Array<unknown>(10_100).fill(twin), large, auditRecord({ id: 1 })];
    const body = Buffer.from(JSON.stringify(records));
    await store(unreadable(gzipSync(body), 'gzip'));
    const larger = { ...context, maxBodyBytes: 10 * 1024 * 1024 };
    const outcomes = await replayQuarantined(larger, idsOf(await quarantined()));
    expect(outcomes).toMatchObject([{ kind: 'replayed', events: 10_101, duplicates: 0, again: [{}] }]);
    expect(await eventIds()).toEqual(
      deliveryToEvents(queuedDelivery('AUDIT_LOG_ALL', records.toSpliced(10_100, 1)))
        .events.map(({ eventId }) => eventId)
        .toSorted(),
    );
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 1, discarded: 0 });
  });

  it('leaves open what a new delivery would be refused for', async () => {
    await store(unreadable(gzipSync(JSON.stringify([auditRecord()])), 'gzip'));
    const [outcome] = await replayQuarantined({ ...context, maxBodyBytes: 10 }, idsOf(await quarantined()));
    const reason = 'the body is larger than 10 bytes (setting MAX_BODY_BYTES)';
    expect(outcome).toMatchObject({ kind: 'refused', reason });
    expect(await conservation()).toEqual({ adds_up: true, open: 1, replayed: 0, discarded: 0 });
  });

  it('does not touch what was discarded, and says what is not there', async () => {
    await store(unreadable(Buffer.from('{')));
    const ids = idsOf(await quarantined());
    expect(await discardQuarantined(test.db, ALL_SOURCES, ids)).toBe(1);
    const unknown = '00000000-0000-8000-8000-000000000000';
    expect(await replayQuarantined(context, [...ids, unknown])).toMatchObject([
      { kind: 'resolved', resolution: 'discarded', deliveryId: null },
      { kind: 'unknown', quarantineId: unknown },
    ]);
    expect(await conservation()).toEqual({ adds_up: true, open: 0, replayed: 0, discarded: 1 });
  });

  it('of everything replays each once, also what shares a time, and nothing that it has set aside itself', async () => {
    const receivedAt = Date.now();
    const bodies = Array.from({ length: 1_200 }, (_, n) => ({
      ...unreadable(Buffer.from(`[${n}]`)),
      receivedAt,
    }));
    await store(...bodies);
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const all = { ids: [], filter: {}, all: true };
    const read = await replayChosen(context, all).finally(() => write.mockRestore());
    expect(read).toBe(false);
    expect(await conservation()).toEqual({ adds_up: true, open: 1_200, replayed: 1_200, discarded: 0 });
  });
});
