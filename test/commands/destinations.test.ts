import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { changeState, forget, rewind } from '../../src/commands/destinations/destinations.ts';
import { resendRejectedEvents, sendTestEvent } from '../../src/commands/destinations/destinations.ts';
import { printDestinations, printRejected } from '../../src/commands/destinations/destinations.ts';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { UsageError } from '../../src/lib/errors.ts';
import type { Destination } from '../../src/forward/parse-destinations.ts';
import type { Message, Sender } from '../../src/forward/sender.ts';
import {
  addDestination,
  listDestinations,
  recordFailure,
} from '../../src/store/destinations/destinations.ts';
import { fileDestination, lastAction, refuseAll, storeDeliveries, takenBy } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { holderOf, takeLease } from '../support/lease.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useDirectory } from '../support/use-directory.ts';
import { useDatabase } from '../support/use-database.ts';

const START = 0;
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000001';

const directory = useDirectory();
const archive = fileDestination('archive', directory);
const test = useDatabase({ logs: true });
beforeAll(async () => {
  const records = [1, 2, 3].map((userId) => auditRecord({ userId }));
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', records));
  await untilSeen(test.db);
});

let printed = '';
beforeEach(async () => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    printed += String(chunk);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  await test.db.deleteFrom('destinations').execute();
  await test.db.deleteFrom('rejected_events').execute();
});
afterEach(() => vi.restoreAllMocks());

const status = async (name: string) => (await listDestinations(test.db)).find((one) => one.name === name);

const storedEvents = () => test.db.selectFrom('events').selectAll().execute();

/** The newest entry of the operator log is a success with these members. */
const expectLogged = async (action: string, more: object = {}) =>
  expect(await lastAction(test.db)).toMatchObject({ via: 'command', action, outcome: 'done', ...more });

/** The destination with a sender that refuses what the test says. */
const withSender = (send: Sender['send']): Destination => ({
  ...archive,
  fingerprint: '',
  createSender: () => ({ send, close: async () => undefined }),
});

const changeOf = (name: string) => ({
  db: test.db,
  operator: commandOperator(),
  configured: ['archive'],
  name,
});

const anyTime = () => new AbortController().signal;

describe('destinations list', () => {
  it('tells of those of the settings, started or not, and of those that once were', async () => {
    await printDestinations(test.db, [archive], true);
    expect(JSON.parse(printed)).toMatchObject({ name: 'archive', state: 'not started', behind: null });
    printed = '';
    await addDestination(test.db, 'archive', START);
    await addDestination(test.db, 'old', START);
    await printDestinations(test.db, [archive], false);
    expect(printed).toMatch(/archive +file +json +settings +running +3 +\d+ s +0 +0/);
    expect(printed).toMatch(/old +not configured +3/);
  });
});

describe('destinations pause and resume', () => {
  it('keep the place, and go on also where the destination had refused us', async () => {
    await addDestination(test.db, 'archive', START);
    await changeState(changeOf('archive'), 'paused');
    expect(await status('archive')).toMatchObject({ state: 'paused', behind_count: 3 });
    await expectLogged('destination.pause', { subject: 'archive' });
    await changeState(changeOf('archive'), 'running');
    await takeLease(test.db, 'archive');
    await recordFailure(test.db, holderOf('archive'), '401', 'refused');
    await changeState(changeOf('archive'), 'running');
    expect(await status('archive')).toMatchObject({ state: 'running', behind_count: 3 });
    await expectLogged('destination.resume');
  });

  it('know no other destination', async () => {
    await expect(changeState(changeOf('archiv'), 'paused')).rejects.toThrow(UsageError);
    expect(await lastAction(test.db)).toMatchObject({ subject: 'archiv', outcome: 'failed' });
  });
});

describe('destinations rewind', () => {
  it('moves to a time or to the end, also before anything was forwarded', async () => {
    const to = new Date(Date.now() - 3_600_000);
    await rewind(changeOf('archive'), to);
    await expectLogged('destination.rewind', { details: { to: to.toISOString() } });
    expect(await status('archive')).toMatchObject({ behind_count: 3 });
    await untilSeen(test.db);
    await rewind(changeOf('archive'), undefined);
    expect(await status('archive')).toMatchObject({ behind_count: 0, generation: '2' });
  });
});

describe('destinations forget', () => {
  it('removes one that is not in the settings, with what it has refused, and no other', async () => {
    await refuseAll(test.db, 'old');
    await expect(forget(changeOf('archive'))).rejects.toThrow('still configured');
    await forget(changeOf('old'));
    expect(await listDestinations(test.db)).toEqual([]);
    await expectLogged('destination.forget', { subject: 'old' });
    await refuseAll(test.db, 'old');
    expect(await status('old')).toMatchObject({ rejected_count: 3 });
    await expect(forget(changeOf('other'))).rejects.toThrow(UsageError);
  });
});

describe('destinations test', () => {
  it('sends one event that says what it is, in the format of the destination', async () => {
    expect(await sendTestEvent(archive)).toBe(true);
    const line = await takenBy('archive', directory);
    expect(JSON.parse(line)).toMatchObject({ source: 'xiq-sink-test', message_type: 'OTHER' });
    expect(line).toContain('"description":"TEST EVENT');
    expect(printed).toContain('archive accepted the test event');
  });

  it('says why it is refused', async () => {
    const refusing = withSender(async () => [{ index: 0, reason: 'no such field' }]);
    expect(await sendTestEvent(refusing)).toBe(false);
    expect(printed).toContain('archive rejected the test event: no such field');
  });
});

describe('destinations rejected and replay', () => {
  it('list what was refused, and send it again until it is taken', async () => {
    await refuseAll(test.db, 'archive');
    await printRejected(test.db, [], 'archive', 10, false);
    expect(printed.match(/no such field/g)).toHaveLength(3);
    const ofUnknown = printRejected(test.db, [], 'nope', 10, false);
    await expect(ofUnknown).rejects.toThrow('Destination "nope" does not exist. Run ');
    expect(await status('archive')).toMatchObject({
      rejected_in_row: 3,
      last_error: 'rejected an event: no such field',
    });

    const taken: string[] = [];
    const send = async ([message]: readonly Message[]) => {
      if (message === undefined || message.event.columns['user_id'] === '2') {
        return [{ index: 0, reason: 'still no such field' }];
      }
      taken.push(message.event.eventId);
      return [];
    };
    expect(await resendRejectedEvents(test.db, withSender(send), { ids: [], all: true }, anyTime())).toBe(
      false,
    );
    expect(printed).toContain('still no such field');
    expect(printed).toContain('2 events resent, 1 rejected again');
    // The destination has accepted an event since.
    expect(await status('archive')).toMatchObject({
      rejected_count: 1,
      rejected_in_row: 0,
      last_error: null,
    });

    const left = (await storedEvents()).map((event) => event.event_id).filter((id) => !taken.includes(id));
    expect(await resendRejectedEvents(test.db, archive, { ids: left, all: false }, anyTime())).toBe(true);
    expect(await status('archive')).toMatchObject({ rejected_count: 0 });
    await expectLogged('destination.replay', { result: { sent: 1, left: 0 } });
  });

  it('leave a refused destination so, with its reason', async () => {
    await refuseAll(test.db, 'archive');
    await recordFailure(test.db, holderOf('archive'), '401', 'refused');
    expect(await resendRejectedEvents(test.db, archive, { ids: [], all: true }, anyTime())).toBe(true);
    expect(await status('archive')).toMatchObject({ state: 'refused', last_error: '401' });
  });

  it('take ids or --all, and only what was refused', async () => {
    const replay = (ids: string[], all: boolean) =>
      resendRejectedEvents(test.db, archive, { ids, all }, anyTime());
    await expect(replay([], false)).rejects.toThrow(UsageError);
    await expect(replay([UNKNOWN_ID], true)).rejects.toThrow(UsageError);
    await expect(replay(['1'], false)).rejects.toThrow('is not an event id');
    await expect(replay([UNKNOWN_ID], false)).rejects.toThrow('has no rejected event');
  });
});

describe('on the command line', () => {
  const config = path.join(directory, 'settings.yaml');
  const run = (...words: string[]) =>
    endOfCommand({ DATABASE_URL: test.databaseUrl, XIQ_SINK_CONFIG: config }, 'destinations', ...words);
  beforeEach(async () => {
    const file = { name: 'archive', type: 'file', path: path.join(directory, 'archive.jsonl') };
    await writeFile(config, JSON.stringify({ destinations: [file] }));
    await addDestination(test.db, 'archive', START);
  });

  it.each([
    [['pause', 'archive'], 'pause', { state: 'paused', behind_count: 3 }],
    [['resume', 'archive'], 'resume', { state: 'running', behind_count: 3 }],
    [['rewind', 'archive', '--to', 'now'], 'rewind', { behind_count: 0 }],
    [['replay', 'archive', '--all'], 'replay', { rejected_count: 0 }],
  ])('%j does it', async (words, action, after) => {
    await refuseAll(test.db, 'archive');
    expect(await run(...words)).toMatchObject({ code: 0 });
    await expectLogged(`destination.${action}`, { subject: 'archive' });
    expect(await status('archive')).toMatchObject(after);
  });

  it('list, rejected and test print what there is, and forget removes one that is not configured', async () => {
    await refuseAll(test.db, 'old');
    expect((await run('list')).stdout).toMatch(/^archive +file +json +settings +running/m);
    const rejected = await run('rejected', 'old', '--limit', '2', '--json');
    expect(rejected.stdout.trim().split('\n')).toHaveLength(2);
    expect((await run('test', 'archive')).stdout).toContain('archive accepted the test event');
    expect(await run('forget', 'old')).toMatchObject({ code: 0 });
    expect(await status('old')).toBeUndefined();
    expect(await run('test', 'old')).toMatchObject({ code: 2 });
  });
});
