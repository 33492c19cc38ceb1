import os from 'node:os';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { changeState, forget, rewind } from '../../src/commands/destinations/destinations.ts';
import { resendRejectedEvents } from '../../src/commands/destinations/destinations.ts';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { discardChosen, replayChosen } from '../../src/commands/quarantine/resolve.ts';
import { parseDestinations } from '../../src/forward/parse-destinations.ts';
import { createBatchStore } from '../../src/handlers/store-batch.ts';
import { listActions } from '../../src/store/operator-log.ts';
import { addDestination } from '../../src/store/destinations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { queuedDelivery } from '../support/deliveries.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ logs: true });
});
afterAll(() => database.drop());

beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterEach(() => vi.restoreAllMocks());

const destinations = parseDestinations({
  destinations: [{ name: 'archive', type: 'file', path: '/nowhere/events.jsonl' }],
  redaction: undefined,
  alerts: undefined,
  forwardTo: undefined,
  forwardToken: undefined,
});

const signal = new AbortController().signal;

const last = async () => (await listActions(database.db, { limit: 1 }))[0];

async function quarantineOne(): Promise<string> {
  const store = createBatchStore(database.db, pino({ level: 'silent' }), signal);
  const unreadable = [{ reason: 'not JSON', content: Buffer.from('{').toString('base64') }];
  const delivery = queuedDelivery('AUDIT_LOG_ALL', [], { unreadable, recordCount: 1 });
  await store({ deliveries: [delivery] });
  const { quarantine_id: id } = await database.db
    .selectFrom('quarantine')
    .select('quarantine_id')
    .where('delivery_id', '=', delivery.deliveryId)
    .executeTakeFirstOrThrow();
  return id;
}

test('who it is: the user at this machine, also where the system does not know the name', () => {
  expect(commandOperator()).toEqual({ name: `${os.userInfo().username}@${os.hostname()}`, via: 'command' });
  vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  });
  expect(commandOperator().name).toBe(`uid ${process.getuid?.()}@${os.hostname()}`);
});

test('a replay and a discard are one entry each, with what was chosen and what came of it', async () => {
  const { db } = database;
  const context = { db, logger: pino({ level: 'silent' }), maxBodyBytes: 1024 * 1024, giveUp: signal };
  const id = await quarantineOne();
  await replayChosen(context, { ids: [id], filter: {}, all: false });
  expect(await last()).toMatchObject({
    operator: commandOperator().name,
    via: 'command',
    action: 'quarantine.replay',
    details: { ids: [id], id_count: 1 },
    outcome: 'done',
    result: { replayed: 1, events: 0, duplicates: 0, again: 1, left: 0 },
  });
  const filter = { reason: 'JSON', since: new Date('2020-01-01T00:00:00Z') };
  await discardChosen(db, { ids: [], filter, all: false }, false, signal);
  expect(await last()).toMatchObject({ action: 'quarantine.replay' });
  await discardChosen(db, { ids: [], filter, all: false }, true, signal);
  expect(await last()).toMatchObject({
    action: 'quarantine.discard',
    details: { filter: { reason: 'JSON', since: '2020-01-01T00:00:00.000Z' } },
    outcome: 'done',
    result: { discarded: 1 },
  });
});

test('of many ids a hundred are written down, and how many there were', async () => {
  const ids = Array.from(
    { length: 101 },
    (_, index) => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
  );
  const context = { db: database.db, logger: pino({ level: 'silent' }), maxBodyBytes: 1024, giveUp: signal };
  await replayChosen(context, { ids, filter: {}, all: false });
  expect(await last()).toMatchObject({
    details: { ids: ids.slice(0, 100), id_count: 101 },
    result: { left: 101 },
  });
});

test('what is done to a destination is written down, also when it fails', async () => {
  const { db } = database;
  const on = { via: 'command', subject: 'archive', outcome: 'done' };
  await changeState(db, destinations, 'archive', 'paused');
  expect(await last()).toMatchObject({ ...on, action: 'destination.pause' });
  await changeState(db, destinations, 'archive', 'running');
  expect(await last()).toMatchObject({ ...on, action: 'destination.resume' });
  await rewind(db, destinations, 'archive', new Date('2026-01-31T00:00:00Z'));
  expect(await last()).toMatchObject({
    ...on,
    action: 'destination.rewind',
    details: { to: '2026-01-31T00:00:00.000Z' },
  });
  const [archive] = destinations;
  if (archive === undefined) throw new Error('there is no destination');
  await resendRejectedEvents(db, archive, { ids: [], all: true }, signal);
  expect(await last()).toMatchObject({
    ...on,
    action: 'destination.replay',
    details: { all: true },
    result: { sent: 0, left: 0 },
  });
  await addDestination(db, 'old', 0);
  await forget(db, destinations, 'old');
  expect(await last()).toMatchObject({ action: 'destination.forget', subject: 'old', outcome: 'done' });
  await expect(changeState(db, destinations, 'other', 'paused')).rejects.toThrow('no destination');
  expect(await last()).toMatchObject({
    action: 'destination.pause',
    subject: 'other',
    outcome: 'failed',
    result: { error: expect.stringContaining('no destination is called "other"') as unknown },
  });
});
