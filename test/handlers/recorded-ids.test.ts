import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { CLOUD_TYPES, type CloudType } from '../../src/events/domain.ts';
import { FIELDS } from '../../src/events/message-types.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { oddDeliveries } from './odd-deliveries.ts';

/** Of each message type. `npm run test:suite long` compares 111,120 events in all, `npm test` the first tenth of them. */
const COUNTS = [1_112, 11_112] as const;
const [few, all] = COUNTS;
const count = process.env['LONG_TESTS'] === undefined ? few : all;

/**
 * SHA-256 of the ids and payloads of the first events of `oddDeliveries`, for each of the counts. They never change: an
 * event that gets another id is stored a second time when it is sent again.
 */
const RECORDED: Readonly<Record<CloudType, readonly [string, string]>> = {
  LOCATION_AP_CENTRIC: [
    '2a1b036777c86484a8fab58b7484dd9539950c2eed3a628df53942d36765712c',
    '01ee6e8eb47293620fe8337e319d159914c93f8ea88d1cd45b902f3d73fa53e6',
  ],
  LOCATION_CLIENT_CENTRIC: [
    'd14ae71f79b131e712a890a78d2b82b5e08e6f563e092914c7d5ca513ae086c6',
    'e01db6d0424bebaffcadc5d1520527c55e46ce74fb483fd9791914fd364ae1c1',
  ],
  AUDIT_LOG_ALL: [
    '6ca0c2a0636fea12aa43fb95e8b8f80450a0252cceb53016692752a1ad999627',
    'f678121651f5f3a78abae38a17c9617fd89f3d05fdb3a6ba4342c7061505354b',
  ],
  GDPR_LOG_ALL: [
    'c1ca1d1f4887bc81496ebc59e423048cfc43b390b196a840f1f6d2000ca2ada8',
    'd26f79409e5358b61ff0e4cd818e81b422c84f24fc7a76e1a39882cd695c22fd',
  ],
  CREDENTIAL_LOG_ALL: [
    '2de53c1026594c62c82fc125890a552a57ee8028819e0308e2227d4c629884b5',
    '61b3d3706eacf6ee180312bc3cc9ed84c551088eff5da0db6b39bf78666ea721',
  ],
  ACCOUNTING_LOG_ALL: [
    'f603c20f4c7da38bd15c9bf744e147a69ca203fbce0e9dab8f1513fcab8df305',
    'a6a377523a49c4779dc1f1a3046939302d62672b7677e38eed95cd12affa9f13',
  ],
  AUTHENTICATION_LOG_ALL: [
    'daa364764f12305c8b20f69a915f1937a6ec7987ca81983809f2d2861332e9fc',
    'dcb4e37c9208039f89e075980b0fc1e7a29374ad3d5555ea9e6dd067c58d1162',
  ],
  EMAIL_LOG_ALL: [
    '0dad2d1e64c97a02c2ac7633466035fc81a5f9a35b1a890da870cbfe0cfb41b2',
    'af32ea2b023b8e56b8e851b42a3d3cdb5653ff376514a80cc061a448b26cd69b',
  ],
  SMS_LOG_ALL: [
    '5d40a33a4427fd8b5bcb5fe65df018d754d4a2c890c769fbdc8c09e59bce9b81',
    '7111e1088ee01b281dba1fcf2f47152ce3dfa38988491a9d544b962f87d0924d',
  ],
  ALERT: [
    'f608ab86afbecb9d131f85cbf7e032e86f06007217a8b5c926de127cc6acee02',
    '69fd8349b36ed600f6570b9c0e2c597faf3d0a69530429bfeb561e0ba0b7732b',
  ],
};

it.each(CLOUD_TYPES)('makes the ids and payloads of %s that it has always made', (messageType) => {
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
  expect(digest.digest('hex')).toBe(RECORDED[messageType][COUNTS.indexOf(count)]);
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
