import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../src/events/domain.ts';
import { eventId, quarantineId } from '../../src/handlers/identity.ts';

const UUID_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const identified = fc.record({
  source: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/),
  messageType: fc.constantFrom(...MESSAGE_TYPES),
  canonical: fc.json(),
  ordinal: fc.nat(20),
});

type Identified = typeof identified extends fc.Arbitrary<infer T> ? T : never;

const idOf = ({ source, messageType, canonical, ordinal }: Identified) =>
  eventId(source, messageType, canonical, ordinal);

describe('the id of an event', () => {
  it('is equal exactly when source, message type, content and ordinal are', () => {
    fc.assert(
      fc.property(
        identified,
        identified,
        fc.constantFrom('source', 'messageType', 'canonical', 'ordinal'),
        (one, other, part) => {
          const mixed = { ...one, [part]: other[part] };
          expect(idOf(mixed) === idOf(one)).toBe(other[part] === one[part]);
          expect(idOf(one)).toMatch(UUID_8);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('does not depend on where one part ends and the next begins', () => {
    expect(eventId('a', 'SMS_LOG_ALL', '1\n{}', 0)).not.toBe(eventId('a', 'SMS_LOG_ALL', '{}', 1));
    expect(eventId('a', 'SMS_LOG_ALL', '0', 10)).not.toBe(eventId('a', 'SMS_LOG_ALL', '00', 1));
  });
});

describe('the id in quarantine', () => {
  it('is one of its own for each part of each delivery, the same at every run', () => {
    const deliveries = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058'];
    const ids = deliveries.flatMap((delivery) =>
      [0, 1, 10].map((ordinal) => quarantineId(delivery, ordinal)),
    );
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(UUID_8);
    expect(quarantineId('01890a5d-ac96-774b-bcce-b302099a8057', 0)).toBe(ids[0]);
  });
});
