import * as fc from 'fast-check';
import { version } from 'uuid';
import { describe, expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../src/domain.ts';
import { eventId, quarantineId } from '../../src/handlers/identity.ts';

const uuid8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

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
  it('is a UUID of version 8 and the standard variant', () => {
    fc.assert(
      fc.property(identified, (event) => {
        expect(idOf(event)).toMatch(uuid8);
        expect(version(idOf(event))).toBe(8);
      }),
    );
  });

  it('is equal exactly when source, message type, content and ordinal are', () => {
    fc.assert(
      fc.property(
        identified,
        identified,
        fc.constantFrom('source', 'messageType', 'canonical', 'ordinal'),
        (one, other, part) => {
          const mixed = { ...one, [part]: other[part] };
          expect(idOf(mixed) === idOf(one)).toBe(other[part] === one[part]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('does not depend on where one part ends and the next begins', () => {
    expect(eventId('a', 'SMS_LOG_ALL', '1\n{}', 0)).not.toBe(eventId('a', 'SMS_LOG_ALL', '{}', 1));
    expect(eventId('a', 'SMS_LOG_ALL', '0', 10)).not.toBe(eventId('a', 'SMS_LOG_ALL', '00', 1));
  });

  it('never changes from one version of this program to the next, or every redelivery would be stored again', () => {
    expect(eventId('default', 'AUDIT_LOG_ALL', '{"code":10001}', 0)).toBe(
      '1e65559b-5d15-8231-be3a-74b40cffa77a',
    );
    expect(eventId('default', 'AUDIT_LOG_ALL', '{"code":10001}', 1)).toBe(
      '966350bb-35aa-87e3-84c8-c721af2ddb02',
    );
  });
});

describe('the id in quarantine', () => {
  it('is one of its own for each part of each delivery, the same at every run', () => {
    const deliveries = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058'];
    const ids = deliveries.flatMap((delivery) =>
      [0, 1, 10].map((ordinal) => quarantineId(delivery, ordinal)),
    );
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(uuid8);
    expect(quarantineId('01890a5d-ac96-774b-bcce-b302099a8057', 0)).toBe(ids[0]);
  });
});
