import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchRecords, type Candidate, type Match } from '../../src/reconcile/match-records.ts';

function match(
  webhooks: readonly Candidate[],
  logged: readonly Candidate[],
  toleranceMs = 5,
  known: ReadonlyMap<string, string> = new Map(),
): Match[] {
  const work = matchRecords(webhooks, logged, toleranceMs, known);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

const one = (id: string, at: number, text = ''): Candidate => ({ id, at, text });

/** Few times and texts, so that many candidates are alike. */
const side = (prefix: string) =>
  fc
    .array(fc.record({ at: fc.nat(30), text: fc.constantFrom('', 'a', 'ab', 'abc', 'x') }), { maxLength: 12 })
    .map((list) => list.map(({ at, text }, index) => one(`${prefix}${index}`, at, text)));

const fits = (a: Candidate, b: Candidate, toleranceMs: number) =>
  Math.abs(a.at - b.at) <= toleranceMs && (a.text.startsWith(b.text) || b.text.startsWith(a.text));

/** The largest number of pairs, found without any preference (Kuhn's algorithm). */
function most(webhooks: readonly Candidate[], logged: readonly Candidate[], toleranceMs: number): number {
  const partner = new Map<Candidate, Candidate>();
  const find = (record: Candidate, seen: Set<Candidate>): boolean =>
    webhooks.some((row) => {
      if (seen.has(row) || !fits(row, record, toleranceMs)) return false;
      seen.add(row);
      const other = partner.get(row);
      if (other !== undefined && !find(other, seen)) return false;
      partner.set(row, record);
      return true;
    });
  return logged.filter((record) => find(record, new Set())).length;
}

describe('matching', () => {
  it('makes as many pairs as possible, each of two that fit, and uses none twice', () => {
    fc.assert(
      fc.property(side('w'), side('l'), fc.nat(8), (webhooks, logged, toleranceMs) => {
        const pairs = match(webhooks, logged, toleranceMs);
        const rows = new Map(webhooks.map((row) => [row.id, row]));
        const records = new Map(logged.map((record) => [record.id, record]));
        expect(new Set(pairs.map(({ webhook }) => webhook)).size).toBe(pairs.length);
        expect(new Set(pairs.map((pair) => pair.logged)).size).toBe(pairs.length);
        for (const pair of pairs) {
          const row = rows.get(pair.webhook);
          const record = records.get(pair.logged);
          expect(row !== undefined && record !== undefined && fits(row, record, toleranceMs)).toBe(true);
        }
        expect(pairs).toHaveLength(most(webhooks, logged, toleranceMs));
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not depend on the order of either side', () => {
    const shuffled = side('w').chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    const others = side('l').chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, others, ([webhooks, webhooks2], [logged, logged2]) => {
        const inOrder = (pairs: Match[]) => pairs.toSorted((a, b) => (a.logged < b.logged ? -1 : 1));
        expect(inOrder(match(webhooks, logged))).toEqual(inOrder(match(webhooks2, logged2)));
      }),
    );
  });

  it('pairs the nearest, so that the one that is missing is found among others of the same kind', () => {
    const webhooks = [0, 1_000, 3_000, 4_000].map((at) => one(`w${at}`, at));
    const logged = [0, 1_000, 2_000, 3_000, 4_000].map((at) => one(`l${at}`, at + 3));
    const paired = new Set(match(webhooks, logged, 2_000).map((pair) => pair.logged));
    expect(logged.filter(({ id }) => !paired.has(id)).map(({ id }) => id)).toEqual(['l2000']);
  });

  it('pairs equal descriptions before beginnings', () => {
    const pairs = match(
      [one('whole', 1, 'changed the SSID'), one('short', 1, 'changed')],
      [one('summary', 1, 'changed')],
    );
    expect(pairs).toEqual([{ webhook: 'short', logged: 'summary', isAmbiguous: false }]);
  });

  it('makes as many in two steps as in one, and whoever had a partner keeps one', () => {
    const early = fc.integer({ min: 0, max: 12 });
    fc.assert(
      fc.property(side('w'), side('l'), early, early, (webhooks, logged, rows, records) => {
        const first = match(webhooks.slice(0, rows), logged.slice(0, records));
        const known = new Map(first.map((pair) => [pair.logged, pair.webhook]));
        const pairs = match(webhooks, logged, 5, known);
        expect(pairs).toHaveLength(most(webhooks, logged, 5));
        expect(pairs.map((pair) => pair.logged)).toEqual(expect.arrayContaining([...known.keys()]));
        expect(pairs.map(({ webhook }) => webhook)).toEqual(expect.arrayContaining([...known.values()]));
      }),
    );
  });

  it('says which pairs could be others', () => {
    const pairs = match([one('w1', 1), one('w2', 1), one('w3', 20)], [one('l1', 1), one('l2', 20)]);
    expect(pairs.map(({ logged, isAmbiguous }) => [logged, isAmbiguous])).toEqual([
      ['l1', true],
      ['l2', false],
    ]);
  });
});
