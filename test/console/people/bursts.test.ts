import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { BURST_GAP_MS, foldBursts } from '../../../src/console/events/event-timeline.ts';

/** Events in order of time, some close together, which say one of few things. */
const events = fc
  .array(
    fc.record({
      says: fc.constantFrom('a', 'b'),
      after: fc.constantFrom(0, 1000, BURST_GAP_MS, BURST_GAP_MS + 1, 3 * BURST_GAP_MS),
    }),
    { maxLength: 30 },
  )
  .map((given) => {
    let at = Date.UTC(2026, 0, 1);
    return given.map(({ says, after }) => {
      at += after;
      return { says, occurredAt: new Date(at).toISOString() };
    });
  });

it('bursts are neighbours that say the same soon after each other, as long as they can be, either way', () => {
  fc.assert(
    fc.property(events, fc.boolean(), (inOrder, isNewestFirst) => {
      const given = isNewestFirst ? inOrder.toReversed() : inOrder;
      const bursts = foldBursts(given, ({ says }) => says);
      expect(bursts.flat()).toEqual(given);
      const belong = (one: (typeof given)[number] | undefined, other: (typeof given)[number] | undefined) =>
        one !== undefined &&
        other !== undefined &&
        one.says === other.says &&
        Math.abs(Date.parse(one.occurredAt) - Date.parse(other.occurredAt)) <= BURST_GAP_MS;
      for (const [index, burst] of bursts.entries()) {
        expect(burst.slice(1).every((event, place) => belong(burst[place], event))).toBe(true);
        expect(belong(burst.at(-1), bursts[index + 1]?.[0])).toBe(false);
      }
    }),
  );
});
