import * as fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../../src/events/domain.ts';
import { FIELDS } from '../../../src/events/message-types.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { countAll } from '../../support/arrivals.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { openSealedLog } from '../../support/sealed-log.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
const earlier = useDatabase();

/** Of each message type. */
const RECORDS = 150;

/** Values as senders write them, numbers as text: `JSON.stringify` would print some of them in another way. */
const value = fc.oneof(
  fc.constantFrom(
    '1e3',
    '1.50',
    '-0',
    '0.0000001',
    '12345678901234567890',
    '1E+2',
    '100.0',
    '1e-7',
    '7',
    'true',
    'null',
  ),
  fc.constantFrom(
    '"2026-03-01T09:00:00Z"',
    '"2026-03-01 09:00"',
    '1795000500000',
    '"1795000500000"',
    '1795000500.5',
  ),
  fc.constantFrom(
    '"AA-BB-CC-DD-EE-FF"',
    '"aabb.ccdd.eeff"',
    '"10.0.0.7"',
    '"::ffff:192.0.2.7"',
    '"fe80::1%eth0"',
  ),
  fc.constantFrom(
    String.raw`"a\u0000b"`,
    String.raw`"\ud800"`,
    '"Grüße"',
    '" x "',
    '""',
    '"\\\\"',
    '[]',
    '{}',
    '[1,"2",null]',
  ),
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text)),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

function recordOf(members: readonly string[]) {
  const member = fc.tuple(fc.constantFrom(...members), value);
  return fc
    .uniqueArray(member, { maxLength: 12, selector: ([name]) => name })
    .map((pairs) => `{${pairs.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`);
}

it('no honest event seems to be rewritten, however its values are written', async () => {
  const log = await openSealedLog(test.service);
  for (const messageType of MESSAGE_TYPES) {
    const members = FIELDS[messageType].flatMap((field) => field.members);
    const known = ['ownerId', 'orgId', 'timeStamp', 'timestamp', 'observations', ...members];
    const records = fc.sample(recordOf(known), RECORDS);
    const text = `[${records.join(',')}]`;
    await storeDeliveries(test.service, queuedDelivery(messageType, records, { records: text }));
  }
  await countAll(test.service);
  await log.seal();
  const { findings, summary } = await log.verify({ isFull: true });
  expect(findings).toEqual([]);
  expect(summary.intact).toBeGreaterThan(RECORDS * 5);
});

it('rows of earlier programs, which read fewer notations, are no rewritten ones; others are', async () => {
  const log = await openSealedLog(earlier.service);
  const payload = JSON.stringify({
    timeStamp: 1_795_000_500_123_456,
    clientMac: 'ec:f4:bb:ff:fe:37:dd:aa',
    apMac: 'ec_f4_bb_37_dd_aa',
    framedIpAddress: '::ffff:192.0.2.7',
  });
  const insert = (client: string, day: string) =>
    sql`insert into log_entries (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload,
        client_mac, framed_ip_address)
      values (${day}, ${day}, gen_random_uuid(), gen_random_uuid(), 's', 'ACCOUNTING_LOG_ALL', 'webhook',
        ${payload}::jsonb, ${client}::macaddr, '::ffff:192.0.2.7')`.execute(earlier.db);
  await insert('0000bbfffe37', '2026-11-01');
  await insert('ecf4bbfffe37', '2026-11-02');
  await insert('0000bbfffe37', '2026-11-03');
  await log.seal();
  const { findings } = await log.verify({ isFull: true });
  const rewritten = findings.filter(({ detail }) => detail.includes('its payload contradicts'));
  const finding = { detail: expect.stringMatching(/contradicts client_mac;/) as unknown };
  expect(rewritten).toMatchObject([finding, finding]);
});
