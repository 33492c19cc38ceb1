import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resendRejectedEvents, sendTestEvent } from '../../src/commands/destinations/destinations.ts';
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
import { holderOf } from '../support/lease.ts';
import { printedBy } from '../support/printed.ts';
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

const config = path.join(directory, 'settings.yaml');
const run = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, XIQ_SINK_CONFIG: config }, 'destinations', ...words);
const matching = (text: string | RegExp): unknown => expect.stringMatching(text);

beforeEach(async () => {
  const file = { name: 'archive', type: 'file', path: path.join(directory, 'archive.jsonl') };
  await writeFile(config, JSON.stringify({ destinations: [file] }));
  await test.db.deleteFrom('destinations').execute();
  await test.db.deleteFrom('rejected_events').execute();
});

const status = async (name: string) => (await listDestinations(test.db)).find((one) => one.name === name);

/** The newest entry of the operator log is a success with these members. */
const expectLogged = async (action: string, more: object = {}) =>
  expect(await lastAction(test.db)).toMatchObject({ via: 'command', action, outcome: 'done', ...more });

/** The destination with a sender that refuses what the test says. */
const withSender = (send: Sender['send']): Destination => ({
  ...archive,
  fingerprint: '',
  createSender: () => ({ send, close: async () => undefined }),
});

it.each<[words: string[], action: string, after: object]>([
  [['pause'], 'pause', { state: 'paused', behind_count: 3 }],
  [['resume'], 'resume', { state: 'running', behind_count: 3 }],
  // An hour ago, nothing was stored.
  [['rewind', '--to', '1h'], 'rewind', { behind_count: 3, generation: '1' }],
  [['rewind', '--to', 'now'], 'rewind', { behind_count: 0 }],
  [['replay', '--all'], 'replay', { state: 'refused', rejected_count: 0, last_error: '401' }],
])(
  '%j changes a destination that has refused us, and is in the operator log',
  async (words, action, after) => {
    await refuseAll(test.db, 'archive');
    await recordFailure(test.db, holderOf('archive'), '401', 'refused');
    const [verb = '', ...options] = words;
    expect(await run(verb, 'archive', ...options)).toMatchObject({ code: 0 });
    await expectLogged(`destination.${action}`, { subject: 'archive' });
    expect(await status('archive')).toMatchObject(after);
  },
);

it('list has those of the settings, started or not, and those that once were, which forget removes', async () => {
  const { stdout } = await run('list', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ name: 'archive', state: 'not started', behind: null });
  expect(await run('rewind', 'archive', '--to', 'now')).toMatchObject({ code: 0 });
  await refuseAll(test.db, 'old');
  const table = (await run('list')).stdout;
  expect(table).toMatch(/archive +file +json +settings +running +0 /);
  expect(table).toMatch(/old +not configured +3/);
  expect(await run('forget', 'archive')).toMatchObject({ code: 2, stderr: matching(/still configured/) });
  expect(await run('forget', 'old')).toMatchObject({ code: 0 });
  await expectLogged('destination.forget', { subject: 'old' });
  // What it rejected is gone as well.
  await addDestination(test.db, 'old', START);
  expect(await status('old')).toMatchObject({ rejected_count: 0 });
});

it.each([['pause'], ['forget'], ['test'], ['rejected'], ['replay', '--all']])(
  '%s knows no destination of another name',
  async (verb, ...options) => {
    expect(await run(verb, 'nope', ...options)).toMatchObject({ code: 2, stderr: matching(/"nope"/) });
  },
);

describe('destinations test', () => {
  it('sends one event that says what it is, in the format of the destination', async () => {
    expect((await run('test', 'archive')).stdout).toContain('archive accepted the test event');
    const line = (await takenBy('archive', directory)).trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(line)).toMatchObject({ source: 'xiq-sink-test', message_type: 'OTHER' });
    expect(line).toContain('"description":"TEST EVENT');
  });

  it('says why it is refused', async () => {
    const refusing = withSender(async () => [{ index: 0, reason: 'no such field' }]);
    const { out } = await printedBy(async () => expect(await sendTestEvent(refusing)).toBe(false));
    expect(out).toContain('archive rejected the test event: no such field');
  });
});

describe('destinations rejected and replay', () => {
  it('list what was refused, and send it again until it is taken', async () => {
    await refuseAll(test.db, 'archive');
    const listed = (await run('rejected', 'archive', '--limit', '2', '--json')).stdout;
    expect(listed.match(/no such field/g)).toHaveLength(2);
    expect(await run('rejected', 'archive', '--limit', '0')).toMatchObject({
      code: 2,
      stderr: matching(/at least 1/),
    });
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
    const choice = { ids: [], all: true };
    const { out } = await printedBy(async () =>
      expect(
        await resendRejectedEvents(test.db, withSender(send), choice, new AbortController().signal),
      ).toBe(false),
    );
    expect(out).toContain('still no such field');
    expect(out).toContain('2 events resent, 1 rejected again');
    // The destination has accepted an event since.
    expect(await status('archive')).toMatchObject({
      rejected_count: 1,
      rejected_in_row: 0,
      last_error: null,
    });

    const events = await test.db.selectFrom('events').select('event_id').execute();
    const left = events.map((event) => event.event_id).filter((id) => !taken.includes(id));
    expect(await run('replay', 'archive', ...left)).toMatchObject({ code: 0 });
    expect(await status('archive')).toMatchObject({ rejected_count: 0 });
    await expectLogged('destination.replay', { result: { sent: 1, left: 0 } });
  });

  it.each([
    [[], 2, 'either event ids or --all'],
    [[UNKNOWN_ID, '--all'], 2, 'either event ids or --all'],
    [['1'], 2, 'is not an event id'],
    [[UNKNOWN_ID], 2, 'has no rejected event'],
  ])('take ids or --all, and only what was refused: %j', async (words, code, reason) => {
    await addDestination(test.db, 'archive', START);
    expect(await run('replay', 'archive', ...words)).toMatchObject({ code, stderr: matching(reason) });
  });
});
