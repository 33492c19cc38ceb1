import os from 'node:os';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { discardChosen, replayChosen } from '../../src/commands/quarantine/resolve.ts';
import { lastAction, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase({ logs: true });

beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterEach(() => vi.restoreAllMocks());

const signal = new AbortController().signal;

async function quarantineOne(): Promise<string> {
  await storeDeliveries(database.db, unreadableDelivery('{'));
  const [item] = await database.db.selectFrom('quarantine').select('quarantine_id').execute();
  return item?.quarantine_id ?? '';
}

const context = () => ({
  db: database.db,
  logger: pino({ level: 'silent' }),
  maxBodyBytes: 1024,
  giveUp: signal,
});

test('who it is: the user at this machine, also where the system does not know the name', () => {
  expect(commandOperator()).toEqual({ name: `${os.userInfo().username}@${os.hostname()}`, via: 'command' });
  vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  });
  expect(commandOperator().name).toBe(`uid ${process.getuid?.()}@${os.hostname()}`);
});

test('a replay and a discard are one entry each, with what was chosen and what came of it', async () => {
  const { db } = database;
  const id = await quarantineOne();
  await replayChosen(context(), { ids: [id], filter: {}, all: false });
  expect(await lastAction(database.db)).toMatchObject({
    operator: commandOperator().name,
    via: 'command',
    action: 'quarantine.replay',
    details: { ids: [id], id_count: 1 },
    outcome: 'done',
    result: { replayed: 0, events: 0, duplicates: 0, again: 0, left: 1 },
  });
  const filter = { reason: 'JSON', since: new Date('2020-01-01T00:00:00Z') };
  await discardChosen(db, { ids: [], filter, all: false }, false, signal);
  expect(await lastAction(database.db)).toMatchObject({ action: 'quarantine.replay' });
  await discardChosen(db, { ids: [], filter, all: false }, true, signal);
  expect(await lastAction(database.db)).toMatchObject({
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
  await replayChosen(context(), { ids, filter: {}, all: false });
  expect(await lastAction(database.db)).toMatchObject({
    details: { ids: ids.slice(0, 100), id_count: 101 },
    result: { left: 101 },
  });
});
