import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { CLOUD_TYPES, type CloudType } from '../../src/events/domain.ts';
import { FIELDS } from '../../src/events/message-types.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { oddDeliveries } from './odd-deliveries.ts';

/** How many events of each message type are compared, and how many by `npm run test:suite long`. */
const [FEW, MANY] = [1_112, 11_112];

/**
 * SHA-256 of the ids and payloads of the first events of `oddDeliveries`. They never change: an event that gets another
 * id is stored a second time when it is sent again.
 */
const RECORDED: Readonly<Record<CloudType, string>> = {
  LOCATION_AP_CENTRIC: '2a1b036777c86484a8fab58b7484dd9539950c2eed3a628df53942d36765712c',
  LOCATION_CLIENT_CENTRIC: 'd14ae71f79b131e712a890a78d2b82b5e08e6f563e092914c7d5ca513ae086c6',
  AUDIT_LOG_ALL: '6ca0c2a0636fea12aa43fb95e8b8f80450a0252cceb53016692752a1ad999627',
  GDPR_LOG_ALL: 'c1ca1d1f4887bc81496ebc59e423048cfc43b390b196a840f1f6d2000ca2ada8',
  CREDENTIAL_LOG_ALL: '2de53c1026594c62c82fc125890a552a57ee8028819e0308e2227d4c629884b5',
  ACCOUNTING_LOG_ALL: 'f603c20f4c7da38bd15c9bf744e147a69ca203fbce0e9dab8f1513fcab8df305',
  AUTHENTICATION_LOG_ALL: 'daa364764f12305c8b20f69a915f1937a6ec7987ca81983809f2d2861332e9fc',
  EMAIL_LOG_ALL: '0dad2d1e64c97a02c2ac7633466035fc81a5f9a35b1a890da870cbfe0cfb41b2',
  SMS_LOG_ALL: '5d40a33a4427fd8b5bcb5fe65df018d754d4a2c890c769fbdc8c09e59bce9b81',
  ALERT: 'f608ab86afbecb9d131f85cbf7e032e86f06007217a8b5c926de127cc6acee02',
};

/** SHA-256 of the digests of the first `MANY` events of all message types. */
const RECORDED_OF_MANY = '6790196f381984f89fb16a87f44ec0b265ec313d8972504d4082f838882543ed';

function digestOf(messageType: CloudType, count: number): string {
  const digest = createHash('sha256');
  let made = 0;
  for (const records of oddDeliveries(messageType)) {
    for (const { eventId, payload } of deliveryToEvents(queuedDelivery(messageType, [], { records }))
      .events) {
      if (made < count) digest.update(`${eventId} ${payload}\n`);
      made += 1;
    }
    if (made >= count) break;
  }
  return digest.digest('hex');
}

it.each(CLOUD_TYPES)('makes the ids and payloads of %s that it has always made', (messageType) => {
  expect(digestOf(messageType, FEW)).toBe(RECORDED[messageType]);
});

it.runIf(process.env['LONG_TESTS'])('makes those of ten times as many events (suite long)', () => {
  const digest = createHash('sha256');
  for (const messageType of CLOUD_TYPES) digest.update(digestOf(messageType, MANY));
  expect(digest.digest('hex')).toBe(RECORDED_OF_MANY);
});

/** Records beside the odd ones: with observations that are none, in another list, or of other values; beyond all ranges. */
const SPECIAL = `[
  {}, {"anything":[{"x":1.0}],"id":{"nested":true}}, {"admin":"jane"}, {"apMac":"aabbccddeeff"},
  {"ownerId":99999999999999999999,"orgId":"x","timeStamp":"9999-12-31T23:59:59-12:00","start":0,"mac":"unknown","id":1e5000},
  {"observations":[]}, {"observations":null,"device_observers":{}}, {"observations":"many"}, {"observations":{"0":{}}},
  {"observations":null,"deviceObservers":[{"rssi":1},{"rssi":2}]}, {"observations":[],"device_observers":[{"rssi":1}]},
  {"apMac":"aabbcc001122","observations":[null,7,"x",[1],{"rssi":-1}]}, {"":[1,2]},
  {"clientMac":"0A1B2C3D4E5F","lat":1.5,"deviceObservers":[{"apMac":"AABBCC001122","lat":2.5},{"lat":null}]},
  {"userName":"far","observations":[{"username":"near"},{"userName":null},{},{"user_name":["no text"]}]}
]`;

/** How many odd events of each message type are recorded. */
const ODD_ROWS = 25;

/** Each record with its columns: `vitest run -u` records them anew, and shows a change of what is stored. */
it.each(CLOUD_TYPES)('reads from records of %s the columns that are recorded', async (messageType) => {
  const rows: string[] = [];
  for (const records of [SPECIAL, ...oddDeliveries(messageType).take(ODD_ROWS)]) {
    const delivery = queuedDelivery(messageType, [], { records, receivedAt: Date.UTC(2026, 2, 1) });
    for (const { payload, occurredAt, ownerId, orgId, values } of deliveryToEvents(delivery).events) {
      const columns = FIELDS[messageType].flatMap(({ column }, index) => {
        const value = values[index] ?? null;
        return value === null ? [] : [[column, value] as const];
      });
      const row = { occurredAt, ownerId, orgId, ...Object.fromEntries(columns) };
      rows.push(`${payload}\n  ${JSON.stringify(row)}\n`);
    }
  }
  await expect(rows.join('')).toMatchFileSnapshot(`recorded/${messageType}.txt`);
});
