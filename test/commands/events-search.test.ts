import { exactTerms } from '../../src/events/search-query.ts';
import { expect, it, vi } from 'vitest';
import { followEvents, printSearch } from '../../src/commands/events/search.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { printedBy } from '../support/printed.ts';
import { waitFor } from '../support/wait-for.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase({ logs: true });

const rejected = {
  username: 'guest',
  calledStationId: '00-11-22-33-44-55:guests',
  ssid: 'guests',
  reply: 'Access-Reject',
  rejectReason: 'wrong password',
};
const sms = { username: 'guest', tel: '+49 151 1234', status: 'DELIVERED', providerType: 'TWILIO' };
const email = { username: 'guest', approverEmail: 'host@example.com', status: 'SENT' };

const store = (...deliveries: QueuedDelivery[]) => storeDeliveries(database.db, ...deliveries);

const storeAll = () =>
  store(
    queuedDelivery('AUTHENTICATION_LOG_ALL', [rejected]),
    queuedDelivery('SMS_LOG_ALL', [sms]),
    queuedDelivery('EMAIL_LOG_ALL', [email]),
    queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description: 'changed a policy' })]),
  );

/** An event of each type, as search and tail print them. */
const SUMMARIES = [
  /Network login rejected +AUTHENTICATION_LOG_ALL .*guest .*Access-Reject · wrong password · guests · at 00:11:22:33:44:55\n/,
  /SMS sent +SMS_LOG_ALL .*guest .*DELIVERED · to \+49 151 1234 · TWILIO\n/,
  /Email sent +EMAIL_LOG_ALL .*guest .*SENT · approved by host@example\.com\n/,
  /AUDIT_LOG_ALL .*changed a policy\n/,
];

it('search and tail print for every type of event what happened', async () => {
  const stop = new AbortController();
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const output = () => write.mock.calls.map(([chunk]) => String(chunk)).join('');
  const following = followEvents(database.db, {}, false, stop.signal);
  await waitFor(async () => {
    await storeAll();
    return SUMMARIES.every((summary) => summary.test(output()));
  });
  stop.abort();
  await following;
  write.mockRestore();

  const { out } = await printedBy(() => printSearch(database.db, {}, { limit: 50 }, false));
  expect(out).toMatch(/^time +event +type +source +user or client +code +summary\n/);
  for (const summary of SUMMARIES) expect(out).toMatch(summary);
});

const searchFor = async (fields: Record<string, string>, isJson = false) =>
  (await printedBy(() => printSearch(database.db, { terms: exactTerms(fields) }, { limit: 50 }, isJson))).out;

it('search says when nothing matches', async () => {
  expect(await searchFor({ source: 'other' })).toBe('no events match\n');
});

it('search shows the hidden characters of an event, and its JSON has the text as it was sent', async () => {
  const description = 'safe\u202Egnp.exe \u001B[2J\u009B31m a\u200Bb\u2028c';
  await store(queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description, code: 77 })]));
  expect(await searchFor({ code: '77' })).toContain(
    String.raw`safe\u202egnp.exe \u001b[2J\u009b31m a\u200bb\u2028c`,
  );
  const json = await searchFor({ code: '77' }, true);
  expect(json).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(json)).toMatchObject({ description, payload: { description } });
});
