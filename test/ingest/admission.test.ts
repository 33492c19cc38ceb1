import * as fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpError } from '../../src/lib/errors.ts';
import { Admission } from '../../src/ingest/admission.ts';
import type { MemoryReservation } from '../../src/ingest/admission.ts';
import { createSourceRates } from '../../src/ingest/source-rates.ts';

const KIB = 1024;
const REQUEST = 8 * KIB;

/** Marks of 100 and 75 KiB for the proven, 40 and 30 for the others, and what was logged. */
function admissionOfTheTest() {
  const log: string[] = [];
  const logger = pino({}, { write: (line) => void log.push(line) });
  const admission = new Admission({ maxBytesInFlight: 100 * KIB, maxBodyBytes: 40 * KIB, logger });
  return { admission, log };
}

const REFUSED = /too many deliveries in progress/;

/** Whether the work was let in. */
function isTaken(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof HttpError && error.code === 'OVERLOADED') return false;
    throw error;
  }
}

const proven = (reservation: MemoryReservation, bytes = 0): MemoryReservation => {
  reservation.admit(true);
  reservation.add(bytes);
  return reservation;
};

describe('admission', () => {
  it('refuses above the high mark until the total is below the low one, and logs each change once', () => {
    const { admission, log } = admissionOfTheTest();
    const first = proven(admission.begin('a'), 40 * KIB);
    const second = proven(admission.begin('a'), 40 * KIB);
    expect(log).toEqual([]);
    const third = proven(admission.begin('a'));
    for (let n = 0; n < 3; n += 1) expect(() => admission.begin('a').admit(true)).toThrow(REFUSED);
    expect(log).toEqual([expect.stringContaining('overloaded: rejecting further deliveries')]);
    third.release();
    expect(() => admission.begin('a').admit(true)).toThrow(REFUSED);
    first.release();
    expect(log).toHaveLength(2);
    expect(log[1]).toContain('no longer overloaded: accepting deliveries again');
    expect(() => admission.begin('a').admit(true)).not.toThrow();
    second.release();
    expect(log).toHaveLength(2);
  });

  it('keeps those without proof to a budget of their own, which costs the others nothing', () => {
    const { admission } = admissionOfTheTest();
    const places = new Set(Array.from({ length: 2_000 }, (_, n) => admission.placeOf(`a ${n}`)));
    expect(places.size).toBe(64);
    const strangers = Array.from({ length: 1_000 }, () => admission.begin('a'));
    const refused = strangers.filter(
      (stranger) =>
        !isTaken(() => {
          stranger.admit(false);
          for (let n = 0; n < 40; n += 1) stranger.add(KIB);
        }),
    );
    expect(refused.length).toBeGreaterThan(990);
    expect(() => proven(admission.begin('a'), 80 * KIB)).not.toThrow();
    for (const stranger of strangers) stranger.release();
    expect(() => admission.begin('a').admit(false)).not.toThrow();
  });

  it('keeps large deliveries to a share, so that there is room for small ones', () => {
    const logger = pino({ level: 'silent' });
    const MIB = 1024 * KIB;
    const admission = new Admission({ maxBytesInFlight: 64 * MIB, maxBodyBytes: 10 * MIB, logger });
    const senders = Array.from({ length: 64 }, () => proven(admission.begin('a')));
    const isOver = senders.map((sender) => !isTaken(() => sender.add(10 * MIB)));
    expect(isOver.filter((over) => !over)).toHaveLength(3);
    // As the ingest endpoint does with each refused one.
    for (const [n, sender] of senders.entries()) if (isOver[n] === true) sender.release();
    const small = Array.from({ length: 1_000 }, () => proven(admission.begin('a'), KIB));
    for (const sender of [...senders, ...small]) sender.release();
    expect(() => proven(admission.begin('a'), 10 * MIB)).not.toThrow();
  });
});

describe('admission of several sources', () => {
  const from = (admission: Admission, source: string, bytes = 0) => {
    const reservation = admission.begin(source);
    reservation.admit(true);
    reservation.add(bytes);
    return reservation;
  };

  it('cuts off the body of the largest source that has been idle longest, if another source needs the room', () => {
    const { admission } = admissionOfTheTest();
    const cut: string[] = [];
    const reading = ['first', 'second', 'third'].map((name) => {
      const reservation = from(admission, 'noisy', 20 * KIB);
      reservation.beginReading((error) => {
        expect(error).toMatchObject({ status: 503, retryAfter: 5 });
        cut.push(name);
        reservation.release();
      });
      onTestFinished(() => reservation.endReading());
      return reservation;
    });
    reading[0]?.add(50 * KIB);
    reading[2]?.add(50 * KIB);
    const quiet = from(admission, 'quiet', 40 * KIB);
    expect(cut).toEqual(['second']);
    quiet.release();
    from(admission, 'quiet', 40 * KIB);
    expect(cut).toEqual(['second']);
  });

  it('cuts off no body of a source within its part, even if the others have none to cut off', () => {
    const { admission } = admissionOfTheTest();
    from(admission, 'noisy', 200 * KIB).endReading();
    const modest = from(admission, 'modest');
    modest.beginReading(() => expect.unreachable());
    expect(() => from(admission, 'quiet', 40 * KIB)).not.toThrow();
    modest.endReading();
  });

  it('leaves a source as many deliveries as are free for others', () => {
    const logger = pino({ level: 'silent' });
    const admission = new Admission({ maxBytesInFlight: 1024 ** 3, maxBodyBytes: KIB, logger });
    const admitted = (source: string) => {
      let count = 0;
      while (count < 3_000 && isTaken(() => from(admission, source))) count += 1;
      return count;
    };
    expect([admitted('a'), admitted('b'), admitted('c')]).toEqual([1_024, 512, 256]);
  });

  it('answers 429 to a source over its rate, with the time to wait, before it reads a body', () => {
    const rates = createSourceRates(
      (source) => (source === 'noisy' ? { deliveriesPerSecond: 2, bytesPerSecond: 100 } : undefined),
      pino({ level: 'silent' }),
      () => 0,
    );
    const logger = pino({ level: 'silent' });
    const admission = new Admission({ maxBytesInFlight: 100 * KIB, maxBodyBytes: KIB, rates, logger });
    for (let n = 0; n < 3; n += 1) from(admission, 'noisy');
    const refusal = { status: 429, code: 'RATE_LIMITED', retryAfter: 1 };
    expect(errorOf(() => from(admission, 'noisy'))).toMatchObject(refusal);
    const signed = admission.begin('noisy');
    signed.admit(false);
    expect(errorOf(() => signed.prove())).toMatchObject(refusal);
    const quiet = from(admission, 'quiet');
    quiet.received(1_000_000);
    expect(() => from(admission, 'quiet')).not.toThrow();
  });

  it('refuses for any order of deliveries only a source that holds its equal part or more', () => {
    const act = fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      bytes: fc.integer({ min: 0, max: 60 * KIB }),
      ends: fc.boolean(),
      isRead: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
        const { admission } = admissionOfTheTest();
        const inside = new Map<MemoryReservation, { source: string; bytes: number }>();
        const sum = (source?: string) =>
          [...inside.values()].reduce(
            (total, each) => total + (source === undefined || each.source === source ? each.bytes : 0),
            0,
          );
        for (const { source, bytes, ends, isRead } of acts) {
          const first = [...inside].find(([, each]) => each.source === source)?.[0];
          if (ends && first !== undefined) {
            first.release();
            inside.delete(first);
            continue;
          }
          const reservation = admission.begin(source);
          const held = sum(source);
          const sources = new Set([...inside.values()].map((each) => each.source)).add(source).size;
          const taken = isTaken(() => {
            reservation.admit(true);
            inside.set(reservation, { source, bytes: REQUEST });
            reservation.beginReading(() => inside.delete(reservation));
            reservation.add(bytes);
            inside.set(reservation, { source, bytes: REQUEST + bytes });
          });
          if (taken && isRead) reservation.endReading();
          if (!taken) {
            reservation.release();
            inside.delete(reservation);
          }
          expect(taken || held + REQUEST + bytes >= (75 * KIB) / sources).toBe(true);
          expect(sum()).toBeLessThanOrEqual(300 * KIB + 2 * REQUEST);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function errorOf(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What the budgets must do, in the plainest words: sums over the deliveries that are in. */
class Model {
  readonly inside = new Map<number, { isProven: boolean; bytes: number }>();
  readonly refuses = { true: false, false: false };

  sum(isProven: boolean): number {
    let sum = 0;
    for (const delivery of this.inside.values()) if (delivery.isProven === isProven) sum += delivery.bytes;
    return sum;
  }

  settle(): void {
    for (const isProven of [true, false]) {
      const high = (isProven ? 100 : 40) * KIB;
      const key = `${isProven}` as const;
      if (this.sum(isProven) > high) this.refuses[key] = true;
      if (this.sum(isProven) < high * 0.75) this.refuses[key] = false;
    }
  }

  hasRoom(isProven: boolean, bytes: number): boolean {
    return this.sum(isProven) + bytes <= 2 * ((isProven ? 100 : 40) * KIB + REQUEST);
  }
}

const step = fc.record({
  delivery: fc.nat(5),
  act: fc.constantFrom('admit proven', 'admit unproven', 'add', 'add', 'add', 'prove', 'release', 'release'),
  bytes: fc.integer({ min: 1, max: 60 * KIB }),
});

it('is for any order of deliveries what the sums of their bytes say', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { admission } = admissionOfTheTest();
      const model = new Model();
      const real = new Map<number, MemoryReservation>();
      for (const { delivery, act, bytes } of steps) {
        const inside = model.inside.get(delivery);
        const reservation = real.get(delivery) ?? admission.begin('a');
        let expected = true;
        let taken = true;
        if (act === 'admit proven' || act === 'admit unproven') {
          if (inside !== undefined) continue;
          const isProven = act === 'admit proven';
          expected = !model.refuses[`${isProven}`] && model.hasRoom(isProven, REQUEST);
          taken = isTaken(() => reservation.admit(isProven));
          if (expected) {
            model.inside.set(delivery, { isProven, bytes: REQUEST });
            real.set(delivery, reservation);
          }
        } else if (inside === undefined) {
          reservation.release();
        } else if (act === 'add') {
          expected = model.hasRoom(inside.isProven, bytes);
          taken = isTaken(() => reservation.add(bytes));
          if (expected) inside.bytes += bytes;
        } else if (act === 'prove') {
          if (inside.isProven) continue;
          expected = !model.refuses.true && model.hasRoom(true, inside.bytes);
          taken = isTaken(() => reservation.prove());
          if (expected) inside.isProven = true;
        } else {
          reservation.release();
          reservation.release();
          model.inside.delete(delivery);
          real.delete(delivery);
        }
        model.settle();
        expect(taken).toBe(expected);
      }
    }),
    { numRuns: 500 },
  );
});
