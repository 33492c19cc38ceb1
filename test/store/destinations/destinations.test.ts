import { beforeEach, describe, expect, it } from 'vitest';
import {
  addDestination,
  checkpoint,
  forgetDestination,
  listDestinations,
  moveCursor,
  readCursors,
  recordFailure,
  releaseLease,
  setState,
  takeLeases,
  type LeasedProgress,
} from '../../../src/store/destinations/destinations.ts';
import {
  countRejected,
  findRejected,
  markReplayed,
  openRejected,
} from '../../../src/store/destinations/rejected-events.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { readRange } from '../../../src/store/log/read-log.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await test.query`truncate destinations, rejected_events`;
  for (const name of ['siem', 'archive']) await addDestination(test.service, name, 5);
});

const OURS = '00000000-0000-7000-8000-000000000001';
const THEIRS = '00000000-0000-7000-8000-000000000002';

const take = async (holder: string, ...names: string[]) =>
  [
    ...(
      await takeLeases(
        test.service,
        names.map((name) => ({ name, holder })),
        30,
      )
    ).keys(),
  ].toSorted();

const save = async (progress: Partial<LeasedProgress> = {}) => {
  const cursor = (await readCursors(test.service)).find(({ name }) => name === 'siem');
  const given = {
    start: cursor?.position ?? 0,
    timeline: (await readRange(test.service)).timeline,
    name: 'siem',
    holder: OURS,
    generation: '0',
    position: 9,
    sent: 4,
    rejected: [],
    rejectedInRow: 0,
  };
  return (await checkpoint(test.service, [{ ...given, ...progress }])).get('siem');
};

const siem = async () => (await listDestinations(test.service)).find(({ name }) => name === 'siem');

const rejected = (...reasons: string[]): Partial<LeasedProgress> => ({
  sent: 0,
  rejectedInRow: reasons.length,
  rejected: reasons.map((reason, number) => ({
    eventId: `6a5a4c7e-0000-4000-8000-00000000000${number}`,
    occurredAt: '2026-03-01T09:00:00Z',
    messageType: 'AUDIT_LOG_ALL',
    reason,
  })),
});

it('the lease of a destination is taken by one, who renews it, until it is released or has ended', async () => {
  expect(await take(OURS, 'siem', 'archive', 'none')).toEqual(['archive', 'siem']);
  expect(await take(OURS, 'siem')).toEqual(['siem']);
  expect(await take(THEIRS, 'siem', 'archive')).toEqual([]);
  await releaseLease(test.service, { name: 'siem', holder: THEIRS });
  expect(await take(THEIRS, 'siem')).toEqual([]);
  await releaseLease(test.service, { name: 'siem', holder: OURS });
  expect(await take(THEIRS, 'siem', 'archive')).toEqual(['siem']);
  await test.query`update destinations set lease_until = now() - interval '1 second' where name = 'archive'`;
  expect(await take(THEIRS, 'archive')).toEqual(['archive']);
  expect((await readCursors(test.service)).map(({ holder }) => holder)).toEqual([THEIRS, THEIRS]);
});

describe('a checkpoint', () => {
  beforeEach(() => take(OURS, 'siem', 'archive'));

  it('moves the cursor of its destination alone, and adds up what was sent', async () => {
    expect(await save()).toEqual({ state: 'running', rejectedInRow: 0 });
    expect(await save({ position: 11, sent: 0 })).toBeDefined();
    expect(await siem()).toMatchObject({ cursor_position: '11', sent_count: '4' });
    expect(new Set((await readCursors(test.service)).map(({ position }) => position))).toEqual(
      new Set([5, 11]),
    );
  });

  it.each([
    ['the lease is of another process', { holder: THEIRS }],
    ['somebody has moved the cursor', { generation: '1' }],
    ['a standby took over that has an earlier cursor', { start: 8 }],
    ['a standby took over that may have other events there', { timeline: '00000002' }],
    ['it was read from a standby', { timeline: null }],
  ])('writes nothing when %s', async (_why, progress) => {
    expect(await save({ ...rejected('bad'), ...progress })).toBeUndefined();
    expect(await siem()).toMatchObject({ cursor_position: '5', rejected_count: 0, last_error: null });
  });

  it('is refused after a rewind, and accepted under the new generation', async () => {
    await addDestination(test.service, 'siem', 99);
    expect(await moveCursor(test.service, 'siem', 2)).toBe(true);
    expect(await save()).toBeUndefined();
    expect(await siem()).toMatchObject({ cursor_position: '2' });
    expect(await save({ generation: '1' })).toBeDefined();
    expect(await moveCursor(test.service, 'none', 2)).toBe(false);
  });

  it('counts events that were rejected in a row, until one is accepted or an operator resumes', async () => {
    expect(await save(rejected('one', 'two'))).toMatchObject({ rejectedInRow: 2 });
    expect(await save(rejected('three'))).toMatchObject({ rejectedInRow: 3 });
    expect(await siem()).toMatchObject({ rejected_count: 2, last_error: 'rejected an event: three' });
    await setState(test.service, 'siem', 'paused');
    expect(await save({ sent: 0 })).toEqual({ state: 'paused', rejectedInRow: 3 });
    await setState(test.service, 'siem', 'running');
    expect(await save(rejected('four'))).toMatchObject({ rejectedInRow: 1 });
    expect(await save()).toMatchObject({ rejectedInRow: 0 });
    expect(await siem()).toMatchObject({ last_error: null });
  });
});

it('a failure refuses a running destination, and never resumes a paused one', async () => {
  await take(OURS, 'siem');
  const fail = (holder: string, state: 'running' | 'refused') =>
    recordFailure(test.service, { name: 'siem', holder }, 'no route', state);
  await fail(THEIRS, 'refused');
  expect(await siem()).toMatchObject({ state: 'running', last_error: null });
  await fail(OURS, 'refused');
  expect(await siem()).toMatchObject({ state: 'refused', last_error: 'no route' });
  await setState(test.service, 'siem', 'paused');
  for (const state of ['running', 'refused'] as const) {
    await fail(OURS, state);
    expect(await siem()).toMatchObject({ state: 'paused' });
  }
});

it('since when a destination is behind is known at each end of a tile', async () => {
  const receivedAt = new Date('2026-03-01T10:00:00Z');
  await insertAudits(test.db, { receivedAt, count: 600 });
  await untilSeen(test.db);
  const { first, next } = await readRange(test.service);
  for (let position = first; position < next; position += 1) {
    if (position % 256 > 0 && position % 256 < 255) continue;
    await moveCursor(test.service, 'siem', position);
    expect(await siem()).toMatchObject({ behind_count: next - position, behind_since: receivedAt });
  }
  await moveCursor(test.service, 'siem', next);
  expect(await siem()).toMatchObject({ behind_count: 0, behind_since: null });
});

it('rejected events stay until they are sent again or their destination is forgotten, page by page', async () => {
  await take(OURS, 'siem');
  await save(rejected('one', 'two', 'three'));
  const open = async (size: number) =>
    (await Array.fromAsync(openRejected(test.service, ALL_SOURCES, 'siem', size))).map(
      ({ reason }) => reason,
    );
  for (const size of [1, 2, 3]) expect(await open(size)).toEqual(['one', 'two', 'three']);
  const [first] = rejected('one').rejected ?? [];
  await markReplayed(test.service, 'siem', first?.eventId ?? '');
  expect(await open(2)).toEqual(['two', 'three']);
  expect(await countRejected(test.service, ALL_SOURCES, 'siem')).toBe(2);
  expect(await findRejected(test.service, ALL_SOURCES, 'siem', [first?.eventId ?? ''])).toHaveLength(1);
  expect(await findRejected(test.service, ALL_SOURCES, 'archive', [first?.eventId ?? ''])).toEqual([]);
  expect(await siem()).toMatchObject({ last_error: null, rejected_count: 2 });
  // Rejected again, it is open again.
  await save(rejected('again'));
  expect(await open(5)).toEqual(['again', 'two', 'three']);
  await forgetDestination(test.service, 'archive');
  expect(await open(5)).toHaveLength(3);
  expect(await forgetDestination(test.service, 'siem')).toBe(true);
  expect(await open(5)).toEqual([]);
  expect(await forgetDestination(test.service, 'siem')).toBe(false);
});
