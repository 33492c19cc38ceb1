import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePosition } from '../../src/events/event-position.ts';

const ID = '1e65559b-5d15-8231-be3a-74b40cffa77a';

describe('the position behind --after', () => {
  it('is the time and the id that a page printed', () => {
    const date = fc.date({ min: new Date('0001-01-01Z'), max: new Date('9999-12-31Z'), noInvalidDate: true });
    fc.assert(
      fc.property(date, fc.uuid({ version: [4, 8] }), (occurredAt, eventId) => {
        expect(parsePosition(`${occurredAt.toISOString()},${eventId}`)).toEqual({ occurredAt, eventId });
      }),
    );
  });

  it.each([
    '',
    ',',
    ID,
    `,${ID}`,
    `2026-01-31,${ID}`,
    `2026-01-31T08:00:00Z,${ID}`,
    `2026-02-30T08:00:00.000Z,${ID}`,
    '2026-01-31T08:00:00.000Z',
    '2026-01-31T08:00:00.000Z,7',
    `2026-01-31T08:00:00.000Z,${'-'.repeat(36)}`,
    `2026-01-31T08:00:00.000Z,${ID}x`,
    `2026-01-31T08:00:00.000Z,${ID}'; drop table events`,
  ])('is nothing else: %j', (text) => {
    expect(parsePosition(text)).toBeUndefined();
  });
});
