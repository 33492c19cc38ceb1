import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { followEvents, printSearch } from '../../src/commands/events/search.ts';
import { createBatchStore } from '../../src/handlers/store-batch.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ logs: true });
});
afterAll(() => database.drop());
afterEach(() => vi.restoreAllMocks());

const rejected = {
  username: 'guest',
  calledStationId: '00-11-22-33-44-55:guests',
  ssid: 'guests',
  reply: 'Access-Reject',
  rejectReason: 'wrong password',
};
const sms = { username: 'guest', tel: '+49 151 1234', status: 'DELIVERED', providerType: 'TWILIO' };
const email = { username: 'guest', approverEmail: 'host@example.com', status: 'SENT' };

async function storeAll(): Promise<void> {
  const store = createBatchStore(database.db, pino({ level: 'silent' }), new AbortController().signal);
  await store({
    deliveries: [
      queuedDelivery('AUTHENTICATION_LOG_ALL', [rejected]),
      queuedDelivery('SMS_LOG_ALL', [sms]),
      queuedDelivery('EMAIL_LOG_ALL', [email]),
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description: 'changed a policy' })]),
    ],
  });
}

/** Collects what is written to standard output from now on. */
function capture(): () => string {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  return () => write.mock.calls.map(([chunk]) => String(chunk)).join('');
}

/** An event of each type, as search and tail print them. */
const SUMMARIES = [
  /Network login rejected +AUTHENTICATION_LOG_ALL .*guest .*Access-Reject · wrong password · guests · at 00:11:22:33:44:55\n/,
  /SMS sent +SMS_LOG_ALL .*guest .*DELIVERED · to \+49 151 1234 · TWILIO\n/,
  /E-mail sent +EMAIL_LOG_ALL .*guest .*SENT · approved by host@example\.com\n/,
  /AUDIT_LOG_ALL .*changed a policy\n/,
];

it('search and tail print for every type of event what happened', async () => {
  const output = capture();
  const stop = new AbortController();
  const following = followEvents(database.db, {}, false, stop.signal);
  await waitFor(async () => {
    await storeAll();
    return SUMMARIES.every((summary) => summary.test(output()));
  });
  stop.abort();
  await following;
  vi.restoreAllMocks();

  const searched = capture();
  await printSearch(database.db, {}, { limit: 50 }, false);
  expect(searched()).toMatch(/^time +event +type +source +user or client +code +summary\n/);
  for (const summary of SUMMARIES) expect(searched()).toMatch(summary);
});

it('search says when nothing matches', async () => {
  const output = capture();
  await printSearch(database.db, { source: 'other' }, { limit: 50 }, false);
  expect(output()).toBe('no events match\n');
});

it('search shows the hidden characters of an event, and its JSON has the text as it was sent', async () => {
  const description = 'safe\u202Egnp.exe \u001B[2J\u009B31m a\u200Bb\u2028c';
  const store = createBatchStore(database.db, pino({ level: 'silent' }), new AbortController().signal);
  await store({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description, code: 77 })])] });
  const asTable = capture();
  await printSearch(database.db, { code: '77' }, { limit: 50 }, false);
  expect(asTable()).toContain(String.raw`safe\u202egnp.exe \u001b[2J\u009b31m a\u200bb\u2028c`);
  vi.restoreAllMocks();

  const asJson = capture();
  await printSearch(database.db, { code: '77' }, { limit: 50 }, true);
  expect(asJson()).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(asJson())).toMatchObject({ description, payload: { description } });
});
