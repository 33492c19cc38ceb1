import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { OBSERVATION_LISTS } from '../../src/events/message-types.ts';
import { MAX_RECORD_BYTES } from '../../src/events/parse-records.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';

const eventsOf = (records: string) =>
  deliveryToEvents(queuedDelivery('LOCATION_AP_CENTRIC', [], { records, receivedAt: 1, deliveryId: 'any' }))
    .events;

/** Observations that share their record's members, with twins among them. */
const observation = fc.record({
  clientMac: fc.constantFrom('aabbcc001122', 'aabbcc001123'),
  lat: fc.constantFrom(51.5, 51.512345678901234),
  text: fc.constantFrom('"],[{', '\\', 'é', ' '),
});

it('the observations of a long record become the events that those of several short ones become', () => {
  const shared = ' "apMac" : "AABBCC001100","id":9223372036854775807 ';
  fc.assert(
    fc.property(
      fc.array(observation, { minLength: 5, maxLength: 30 }),
      fc.constantFrom(...OBSERVATION_LISTS),
      fc.constantFrom('', ',"other":{"observations":[1]}', ',"extra":[ ]'),
      (some, name, after) => {
        const filler = 'x'.repeat(30_000);
        const all = Array.from({ length: 100 }, (_, n) => ({ ...some[n % some.length], filler }));
        const record = (list: readonly object[]) =>
          `{${shared},"${name}" : [${list.map((one) => JSON.stringify(one, undefined, 1)).join(' , ')}]${after}}`;
        const long = record(all);
        expect(long.length).toBeGreaterThan(MAX_RECORD_BYTES);
        const short = Array.from({ length: 10 }, (_, n) => record(all.slice(n * 10, n * 10 + 10)));
        expect(eventsOf(`[{"a":1},${long},{"b":1}]`)).toEqual(eventsOf(`[{"a":1},${short.join()},{"b":1}]`));
      },
    ),
    { numRuns: 5 },
  );
});
