import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createJournal } from '../events/journal.ts';
import type { Entry } from '../events/journal.ts';
import { logIn, manualClock, startEmulator } from './harness.ts';

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

  it.each(['gdpr', 'location', 'authentication'])('has no log named %s', async (kind) => {
    const { call } = await startEmulator();
    expect((await call('GET', `/logs/${kind}`)).status).toBe(404);
  });
});

function entry(id: number): Entry {
  return { messageType: 'SMS_LOG_ALL', sent: {}, listed: { id, timestamp: id } };
}

it('the journal forgets the oldest, and never more than it may', () => {
  const journal = createJournal(100);
  for (let id = 0; id < 1000; id += 1) {
    journal.append(entry(id));
    const kept = journal.list('sms').map((record) => record.id);
    expect(kept.at(-1)).toBe(id);
    expect(kept.length).toBeLessThanOrEqual(110);
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(id + 1, 100));
  }
});
