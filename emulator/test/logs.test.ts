import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createJournal } from '../events/journal.ts';
import type { CloudType } from '../../src/events/domain.ts';
import type { Entry } from '../events/journal.ts';
import { logIn, manualClock, startEmulator } from './harness.ts';
import type { Call } from './harness.ts';
import { live, setUp } from './sending-harness.ts';

const DAY_MS = 86_400_000;
const pageSchema = z.object({ data: z.array(z.looseObject({ timestamp: z.int() })) });

describe('reading logs back', () => {
  it('asks for a span of at most 30 days of the audit log, and needs none for the others', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const now = clock.now();
    expect((await call('GET', `/logs/audit?startTime=${now - 30 * DAY_MS}&endTime=${now}`)).status).toBe(200);
    expect((await call('GET', `/logs/audit?startTime=${now - 30 * DAY_MS - 1}&endTime=${now}`)).status).toBe(
      400,
    );
    expect((await call('GET', '/logs/audit')).status).toBe(400);
    expect((await call('GET', '/logs/sms')).status).toBe(200);
    expect((await call('GET', '/logs/sms?startTime=-1&endTime=-1')).status).toBe(200);
  });

  it.each([
    ['audit', 500],
    ['auth', 100],
    ['accounting', 100],
    ['credential', 100],
    ['email', 100],
    ['sms', 100],
  ])('%s gives up to %d records a page', async (kind, limit) => {
    const { call } = await startEmulator();
    const span = 'startTime=0&endTime=1';
    expect((await call('GET', `/logs/${kind}?limit=${limit}&${span}`)).status).toBe(200);
    expect((await call('GET', `/logs/${kind}?limit=${limit + 1}&${span}`)).status).toBe(400);
  });

  it('gives what happened within the span, both ends included, oldest first', async () => {
    const clock = manualClock();
    const { call, url } = await startEmulator({ clock });
    const times: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      await clock.advance(1000);
      times.push(clock.now());
      await logIn(url, 'operator');
    }
    const span = `startTime=${times[1]}&endTime=${times[3]}`;
    const answer = await call('GET', `/logs/audit?${span}`);
    expect(pageSchema.parse(answer.body).data.map(({ timestamp }) => timestamp)).toEqual(times.slice(1, 4));
    expect(answer.body).toMatchObject({
      data: [{ category: 'ADMIN', code: 10001, username: 'operator@emulator.test' }, {}, {}],
    });
  });
});

function entry(id: number): Entry {
  return { messageType: 'SMS_LOG_ALL', sent: {}, listed: { id, timestamp: id } };
}

it('the journal forgets the oldest, and never more than it may', () => {
  const journal = createJournal({ clock: manualClock(), kept: 100 });
  for (let id = 0; id < 1000; id += 1) {
    journal.append(entry(id));
    const kept = journal.list('sms').map((record) => record.id);
    expect(kept.at(-1)).toBe(id);
    expect(kept.length).toBeLessThanOrEqual(110);
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(id + 1, 100));
  }
});

describe('filters and order', () => {
  const pageOfRecords = z.object({ data: z.array(z.record(z.string(), z.unknown())) });

  /** The records of a log that a query selects. */
  async function records(call: Call, path: string) {
    const answer = await call('GET', path);
    expect(answer).toMatchObject({ status: 200 });
    return pageOfRecords.parse(answer.body).data;
  }

  it('of the audit log: categories, user name and keyword, newest first if asked', async () => {
    const clock = manualClock();
    const { call, emulator } = await startEmulator({ clock, dialect: 'vendor' });
    for (let second = 0; second < 80; second += 1) {
      emulator.happen('AUDIT_LOG_ALL');
      await clock.advance(1000);
    }
    const span = `startTime=${clock.now() - DAY_MS}&endTime=${clock.now()}`;
    const all = await records(call, `/logs/audit?limit=100&${span}`);
    const admin = await records(
      call,
      `/logs/audit?limit=100&categories=CONFIG&categories=DEPLOYMENT&${span}`,
    );
    expect(admin.length).toBeGreaterThan(3);
    expect(admin).toEqual(all.filter(({ category }) => category !== 'ADMIN'));
    const newest = await records(call, `/logs/audit?limit=100&sortField=TIMESTAMP&order=DESC&${span}`);
    expect(newest.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toReversed());
    const name = String(all[5]?.['username']);
    expect(await records(call, `/logs/audit?limit=100&username=${name}&${span}`)).toEqual(
      all.filter(({ username }) => username === name),
    );
    expect(await records(call, `/logs/audit?limit=100&keyword=LOGGED%20OUT&${span}`)).toEqual(
      all.filter(({ description }) => String(description).includes('logged out')),
    );
    expect((await call('GET', `/logs/audit?categories=config&${span}`)).status).toBe(422);
  });

  it.each([
    ['auth', 'AUTHENTICATION_LOG_ALL', 'callingStationId', 'calling_station_id'],
    ['accounting', 'ACCOUNTING_LOG_ALL', 'username', 'username'],
    ['credential', 'CREDENTIAL_LOG_ALL', 'username', 'username'],
    ['email', 'EMAIL_LOG_ALL', 'username', 'username'],
    ['sms', 'SMS_LOG_ALL', 'phoneNumber', 'tel'],
  ] as const)('of the %s log', async (kind, type, parameter, member) => {
    const { call, emulator } = await startEmulator();
    emulator.happen(type, 20);
    const all = await records(call, `/logs/${kind}?limit=100`);
    const value = all[3]?.[member];
    const selected = await records(
      call,
      `/logs/${kind}?limit=100&${parameter}=${encodeURIComponent(String(value))}`,
    );
    expect(selected).toEqual(all.filter((record) => record[member] === value));
    expect(selected.length).toBeLessThan(all.length);
  });

  it('leaves out the organizations that the HIQ context does not read, but not what belongs to none', async () => {
    const { call, emulator } = await startEmulator();
    emulator.happen('AUTHENTICATION_LOG_ALL', 3);
    const organizations = z.array(z.int()).parse((await call('GET', '/hiq/context/reading')).body);
    await call('PUT', '/hiq/context/reading', { body: organizations.slice(1) });
    expect(await records(call, '/logs/auth')).toEqual([]);
    const span = `startTime=${Date.now() - 60_000}&endTime=${Date.now() + 60_000}`;
    expect(await records(call, `/logs/audit?${span}`)).toMatchObject([{ code: 10001, org_id: 0 }]);
    await call('PUT', '/hiq/context/reading', { body: [] });
    expect(await records(call, '/logs/auth')).toHaveLength(3);
  });
});

describe('log record and webhook of one event', () => {
  const DELAY_MS = 30_000;

  async function events(faults: Record<string, unknown>, type: CloudType, count = 30) {
    const setup = await setUp({ rate: 20 }, 'secret', [type]);
    await setup.call('POST', '/emulator/faults', { body: faults });
    setup.emulator.happen(type, count);
    await live(setup, 1000);
    const sent = setup.receiver.received.flatMap((delivery) => delivery.records);
    async function listed(kind: string) {
      const span = `startTime=${setup.clock.now() - DAY_MS}&endTime=${setup.clock.now() + DAY_MS}`;
      const answer = await setup.call('GET', `/logs/${kind}?limit=100&${span}`);
      return z.object({ data: z.array(z.record(z.string(), z.unknown())) }).parse(answer.body).data;
    }
    return { ...setup, sent, listed };
  }

  it('log_delay_ms: records come late, all of them within the delay', async () => {
    const { clock, sent, listed } = await events({ log_delay_ms: DELAY_MS }, 'SMS_LOG_ALL');
    expect((await listed('sms')).length).toBeLessThan(sent.length / 2);
    await clock.advance(DELAY_MS);
    const ids = new Set((await listed('sms')).map(({ id }) => id));
    expect(sent.filter(({ id }) => !ids.has(id))).toEqual([]);
  });

  it('log_skew_ms: their times differ by no more than the skew, either way', async () => {
    const { sent, listed } = await events({ log_skew_ms: 50 }, 'SMS_LOG_ALL');
    const times = new Map((await listed('sms')).map(({ id, timestamp }) => [id, Number(timestamp)]));
    const skews = sent.flatMap(({ id, timeStamp }) =>
      times.has(id) ? [(times.get(id) ?? 0) - Number(timeStamp)] : [],
    );
    expect(Math.max(...skews)).toBeGreaterThan(0);
    expect(Math.min(...skews)).toBeLessThan(0);
    expect(skews.filter((skew) => Math.abs(skew) > 50)).toEqual([]);
  });

  it('status_delay_ms: the status of a message changes in the log only', async () => {
    const { clock, sent, listed } = await events({ status_delay_ms: 10_000 }, 'SMS_LOG_ALL');
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set(['SEND_OUT']));
    expect(new Set((await listed('sms')).map(({ status }) => status))).toEqual(new Set(['SEND_OUT']));
    await clock.advance(10_000);
    const settled = new Set((await listed('sms')).slice(0, 30).map(({ status }) => status));
    expect(settled).toContain('SUCCESS');
    expect(settled).not.toContain('SEND_OUT');
  });

  it('alike: log-ins come three at a time, and nothing but the id of the log tells them apart', async () => {
    const { sent, listed } = await events({ alike: 1 }, 'AUDIT_LOG_ALL', 1);
    const [one, two, three] = sent.filter(({ description }) => !String(description).includes('session'));
    expect(one).toBeDefined();
    expect([two, three]).toEqual([one, one]);
    const twins = (await listed('audit')).filter(
      ({ timestamp, description }) =>
        timestamp === one?.['timeStamp'] && description === one?.['description'],
    );
    expect(new Set(twins.map(({ id }) => id)).size).toBe(twins.length);
    expect(twins.length % 3).toBe(0);
  });

  it('the log has a summary of a configuration, and its whole description elsewhere', async () => {
    const { sent, listed, call } = await events({}, 'AUDIT_LOG_ALL', 100);
    const whole = sent.find(({ deviceCount }) => deviceCount !== null);
    const summary = (await listed('audit')).find(
      ({ timestamp, full_description_id: id }) =>
        timestamp === whole?.['timeStamp'] && typeof id === 'number',
    );
    expect(String(whole?.['description']).startsWith(`${String(summary?.['description'])}: `)).toBe(true);
    const answer = await call(
      'GET',
      `/logs/audit/full-descriptions/${String(summary?.['full_description_id'])}`,
    );
    expect(answer.body).toMatchObject({
      description: expect.stringContaining(String(summary?.['description'])) as unknown,
    });
    expect((await call('GET', '/logs/audit/full-descriptions/1')).status).toBe(404);
  });
});
