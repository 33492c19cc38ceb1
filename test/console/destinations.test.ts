import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import type { Destination } from '../../src/forward/parse-destinations.ts';
import { addDestination, recordFailure } from '../../src/store/destinations/destinations.ts';
import { fileDestination, lastAction, refuseAll, storeDeliveries, takenBy } from '../support/actions.ts';
import { startAdmin } from '../support/admin.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { holderOf, takeLease } from '../support/lease.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useConsole } from '../support/use-console.ts';
import { useDirectory } from '../support/use-directory.ts';
import { outputsForTests } from '../support/outputs.ts';

const START = 0;

const directory = useDirectory();
const away: Destination = {
  ...fileDestination('away', directory),
  fingerprint: '',
  createSender: () => ({
    send: async () => {
      throw new Error('connect ECONNREFUSED');
    },
    close: async () => undefined,
  }),
};
const configured = [fileDestination('archive', directory), away];
const admin = useConsole((db) => [deliveriesArea({ db }), outputsForTests(db, configured).destinations], {
  logs: true,
  seed: async (db) => {
    const records = [1, 2, 3].map((userId) => auditRecord({ userId }));
    await storeDeliveries(db, queuedDelivery('AUDIT_LOG_ALL', records));
    await untilSeen(db);
  },
});
beforeEach(async () => {
  await admin.db.deleteFrom('destinations').execute();
  await admin.db.deleteFrom('rejected_events').execute();
});

const listed = z.object({ items: z.array(z.looseObject({ name: z.string() })) });

async function stateOf(name: string): Promise<unknown> {
  const { items } = listed.parse(await admin.get('/destinations'));
  return items.find((item) => item.name === name);
}

describe('the list of destinations', () => {
  it('has those of the settings and those that once were, and how each is', async () => {
    await addDestination(admin.db, 'old', START);
    expect(await stateOf('archive')).toMatchObject({ state: 'not started', type: 'file', behind: null });
    expect(await stateOf('old')).toMatchObject({ state: 'not configured', behind: 3 });
    const page = await admin.page('/destinations');
    expect(page).toContain('data-action="/destinations/old/forget"');
    expect(page).toContain('data-action="/destinations/archive/pause"');
  });

  it('says what to set when there is none', async () => {
    const empty = await startAdmin([outputsForTests(admin.db).destinations], admin.db);
    expect(await empty.page('/destinations')).toContain('FORWARD_TO');
    await empty.close();
  });
});

describe('a change', () => {
  it('pauses and resumes, also one that had refused us, and stands in the operator log', async () => {
    await addDestination(admin.db, 'archive', START);
    await admin.post('/destinations/archive/pause', {});
    expect(await stateOf('archive')).toMatchObject({ state: 'paused', behind: 3 });
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.pause',
      subject: 'archive',
      outcome: 'done',
    });
    await takeLease(admin.db, 'archive');
    await admin.post('/destinations/archive/resume', {});
    await recordFailure(admin.db, holderOf('archive'), '401', 'refused');
    expect(await stateOf('archive')).toMatchObject({ state: 'refused' });
    expect(await admin.page('/deliveries')).toContain('title="Destinations: archive refused"');
    await admin.post('/destinations/archive/resume', {});
    expect(await stateOf('archive')).toMatchObject({ state: 'running', behind: 3 });
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.resume' });
  });

  it('moves the place to now, by a span or to a time in UTC', async () => {
    await admin.post('/destinations/archive/rewind', { to: '1h' });
    expect(await stateOf('archive')).toMatchObject({ behind: 3 });
    await untilSeen(admin.db);
    await admin.post('/destinations/archive/rewind', { to: 'now' });
    expect(await stateOf('archive')).toMatchObject({ behind: 0 });
    await admin.post('/destinations/archive/rewind', { to: '2026-01-01T08:00' });
    expect(await stateOf('archive')).toMatchObject({ behind: 3 });
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.rewind',
      details: { to: '2026-01-01T08:00:00.000Z' },
    });
    await expect(admin.post('/destinations/archive/rewind', { to: 'noon' })).rejects.toThrow('answered 400');
  });

  it('forgets only what the settings do not have', async () => {
    await refuseAll(admin.db, 'old');
    await expect(admin.post('/destinations/archive/forget', {})).rejects.toThrow('still configured');
    await admin.post('/destinations/old/forget', {});
    expect(await stateOf('old')).toBeUndefined();
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.forget', subject: 'old' });
  });

  it.each(['pause', 'resume', 'forget', 'test'])(
    'is refused for a name that nobody knows: %s',
    async (verb) => {
      await expect(admin.post(`/destinations/nowhere/${verb}`, {})).rejects.toThrow('answered 404');
    },
  );
});

describe('a test event', () => {
  it('is sent, and stands in the operator log', async () => {
    expect(await admin.post('/destinations/archive/test', {})).toMatchObject({ refusal: null });
    expect(await takenBy('archive', directory)).toContain('"description":"TEST EVENT');
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.test', outcome: 'done' });
  });

  it('says why nothing could be sent', async () => {
    await expect(admin.post('/destinations/away/test', {})).rejects.toThrow('connect ECONNREFUSED');
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.test', outcome: 'failed' });
  });
});

describe('refused events', () => {
  const rejected = z.object({
    items: z.array(z.object({ event_id: z.string() })),
    next_cursor: z.string().nullable(),
  });
  const idsOf = async (query = '') =>
    rejected
      .parse(await admin.get(`/destinations/archive/rejected${query}`))
      .items.map((one) => one.event_id);

  it('are listed by pages and sent again, chosen or all, part by part', async () => {
    await refuseAll(admin.db, 'archive');
    const first = rejected.parse(await admin.get('/destinations/archive/rejected?limit=2'));
    expect(await idsOf(`?limit=2&cursor=${first.next_cursor}`)).toHaveLength(1);
    expect(await admin.page('/destinations/archive')).toContain('no such field');

    const [chosen = ''] = await idsOf();
    expect(await admin.post('/destinations/archive/replay', { ids: [chosen] })).toEqual({
      results: [{ event_id: chosen, reason: null }],
      next_cursor: null,
    });
    expect(await idsOf()).toHaveLength(2);
    const part = z
      .object({ next_cursor: z.string() })
      .parse(await admin.post('/destinations/archive/replay', { all: true, limit: 1 }));
    await admin.post('/destinations/archive/replay', { all: true, limit: 1, cursor: part.next_cursor });
    expect(await idsOf()).toEqual([]);
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.replay',
      subject: 'archive',
      result: { sent: 1, left: 0 },
    });
  });

  it('stay as they were when the destination cannot be reached, or has not refused them', async () => {
    await refuseAll(admin.db, 'away');
    await expect(admin.post('/destinations/away/replay', { all: true })).rejects.toThrow('ECONNREFUSED');
    expect(await stateOf('away')).toMatchObject({ rejected: 3 });
    const ids = ['01a20087-2e5c-8687-826d-5999ab661330'];
    await expect(admin.post('/destinations/away/replay', { ids })).rejects.toThrow('has no rejected event');
  });
});
