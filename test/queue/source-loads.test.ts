import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OBSERVATION_LISTS } from '../../src/events/message-types.ts';
import { scanBody } from '../../src/ingest/scan/scan-body.ts';
import { costOf, createSourceLoads, FLOOR } from '../../src/queue/fair-queue.ts';

const MIB = 1024 * 1024;

describe('the load of a source', () => {
  it('is never over its share below the floor, alone, or with no more than an equal part', () => {
    const send = fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      cost: fc.integer({ min: 1, max: 8 * MIB }),
      afterMs: fc.nat(5_000),
    });
    fc.assert(
      fc.property(fc.array(send, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (sends, configured) => {
        let now = 0;
        const loads = createSourceLoads(
          () => configured,
          () => now,
        );
        const all: { source: string; cost: number; at: number }[] = [];
        for (const { source, cost, afterMs } of sends) {
          now += afterMs;
          all.push({ source, cost, at: now });
          const weigh = (of: typeof all) =>
            of.reduce((sum, sent) => sum + sent.cost * Math.exp((sent.at - now) / 10_000), 0);
          const own = weigh(all.filter((sent) => sent.source === source));
          const sources = Math.max(configured, new Set(all.map((sent) => sent.source)).size);
          const share = Math.max(FLOOR, weigh(all) / sources);
          const isOver = loads.add(source, cost);
          // At a bound itself, rounding decides.
          const isNear = (bound: number) => own > bound * 0.999 && own < bound * 1.001;
          const hasRank = loads.rankOf(source) > 0;
          expect(isOver).toBe(isNear(share) ? isOver : sources > 1 && own > share);
          expect(hasRank).toBe(isNear(FLOOR) ? hasRank : own > FLOOR);
        }
      }),
    );
  });

  it('ranks a source later the more it has sent, and forgets', () => {
    let now = 0;
    const loads = createSourceLoads(
      () => 2,
      () => now,
    );
    expect(loads.rankOf('a')).toBe(0);
    for (let n = 0; n < 64; n += 1) loads.add('a', 8 * MIB);
    loads.add('b', 8 * MIB);
    expect(loads.rankOf('a')).toBe(9);
    expect(loads.rankOf('b')).toBe(3);
    now = 120_000;
    expect(loads.rankOf('a')).toBe(0);
  });

  it('counts the rows that a delivery may become', () => {
    const observations = Array.from({ length: 1_000 }, () => ({ x: 1 }));
    const costOfBody = (value: object) => {
      const body = Buffer.from(JSON.stringify(value));
      return costOf(body.length, scanBody(body, OBSERVATION_LISTS).rows);
    };
    const small = costOfBody([{ id: 1 }]);
    const large = costOfBody([{ observations }]);
    expect(small).toBeLessThan(2_000);
    expect(large).toBeGreaterThan(500_000);
  });
});
