import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { barLine, plainLine } from '../../src/commands/shared/progress.ts';

const line = (done: number, total: number | undefined, seconds: number, columns = 100) =>
  stripVTControlCharacters(barLine({ verb: 'replayed', done, total, seconds }, columns));

describe('progress on a terminal', () => {
  it('has a bar, percent, rate and time left', () => {
    expect(line(0, 1_000, 0)).toMatch(/^replayed ░{24} {2}0% {2}0 of 1,000 {2}0\/s$/);
    expect(line(250, 1_000, 10)).toMatch(/█{6}░{18} 25% {2}250 of 1,000 {2}25\/s {2}30 s left$/);
    expect(line(1_000, 1_000, 40)).toMatch(/100% {2}1,000 of 1,000 {2}25\/s {2}0 s left$/);
  });

  it('tells how fast where nobody has counted the whole', () => {
    expect(line(1_500, undefined, 2)).toBe('replayed 1,500  750/s');
  });

  it('leaves out the bar where there is no room, and never wraps', () => {
    expect(line(250, 1_000, 10, 60)).toBe('replayed  25%  250 of 1,000  25/s  30 s left');
    const number = fc.nat({ max: 10 ** 9 });
    fc.assert(
      fc.property(
        number,
        fc.option(number, { nil: undefined }),
        fc.float({ min: 0, max: 10_000, noNaN: true }),
        fc.integer({ min: 2, max: 200 }),
        (done, total, seconds, columns) => {
          expect(line(done, total, seconds, columns).length).toBeLessThan(columns);
        },
      ),
    );
  });
});

it('progress in a log is a plain line', () => {
  expect(plainLine({ verb: 'exported', done: 500, total: 2_000, seconds: 1 })).toBe('exported 500 of 2,000');
  expect(plainLine({ verb: 'exported', done: 500, total: undefined, seconds: 1 })).toBe('exported 500');
});
