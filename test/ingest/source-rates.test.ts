import * as fc from 'fast-check';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { HttpError } from '../../src/lib/errors.ts';
import { createSourceRates } from '../../src/ingest/source-rates.ts';

const logger = pino({ level: 'silent' });

it('lets a source send its rate and a burst of a second, in any pattern, and no more', () => {
  const send = fc.record({ afterMs: fc.integer({ min: 0, max: 400 }), bytes: fc.nat(500) });
  fc.assert(
    fc.property(fc.array(send, { maxLength: 200 }), (sends) => {
      let now = 0;
      const limits = { deliveriesPerSecond: 10, bytesPerSecond: 1_000 };
      const rates = createSourceRates(
        () => limits,
        logger,
        () => now,
      );
      let deliveries = 0;
      let bytes = 0;
      for (const { afterMs, bytes: size } of sends) {
        now += afterMs;
        try {
          rates.admit('a');
        } catch (error) {
          if (!(error instanceof HttpError)) throw error;
          // The answer says when it may send again.
          now += (error.retryAfter ?? 0) * 1_000;
          rates.admit('a');
        }
        deliveries += 1;
        rates.count('a', size);
        bytes += size;
        expect(deliveries).toBeLessThanOrEqual((now / 1_000 + 1) * 10 + 1);
        expect(bytes - size).toBeLessThanOrEqual((now / 1_000 + 1) * 1_000);
      }
    }),
    { numRuns: 300 },
  );
});

it('logs a source that is over its limits once a minute', () => {
  const lines: string[] = [];
  let now = 0;
  const rates = createSourceRates(
    () => ({ deliveriesPerSecond: 1 }),
    pino({}, { write: (line) => void lines.push(line) }),
    () => now,
  );
  const admit = () => rates.admit('a');
  admit();
  admit();
  for (let n = 0; n < 100; n += 1) expect(admit).toThrow('exceeds its limits');
  expect(lines).toHaveLength(1);
  now = 60_001;
  for (let n = 0; n < 2; n += 1) admit();
  expect(admit).toThrow('exceeds its limits');
  expect(lines).toHaveLength(2);
});
