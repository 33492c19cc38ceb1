import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { barLine, createProgress, plainLine } from '../../src/commands/shared/progress.ts';
import { printedBy } from '../support/printed.ts';

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

describe('progress', () => {
  const { isTTY, columns } = process.stderr;
  afterEach(() => {
    vi.useRealTimers();
    Object.assign(process.stderr, { isTTY, columns });
  });

  /** What is shown of counts at these milliseconds from the start. */
  async function shown(onTerminal: boolean, counts: readonly (readonly [ms: number, done: number])[]) {
    vi.useFakeTimers({ toFake: ['performance'] });
    Object.assign(process.stderr, { isTTY: onTerminal, columns: 60 });
    const { err } = await printedBy(() => {
      using progress = createProgress('exported', 2_000);
      let now = 0;
      for (const [ms, done] of counts) {
        vi.advanceTimersByTime(ms - now);
        now = ms;
        progress.show(done);
      }
    });
    return err;
  }

  it('is a line every 5 s in a log, and one that is overwritten ten times a second on a terminal', async () => {
    const inLog = [
      [4_999, 1],
      [5_000, 500],
      [9_999, 900],
      [10_000, 1_000],
    ] as const;
    expect(await shown(false, inLog)).toBe('exported 500 of 2,000\nexported 1,000 of 2,000\n');
    const clear = '\r\u001b[K';
    const first = 'exported  50%  1,000 of 2,000  10,000/s  1 s left';
    expect(
      await shown(true, [
        [99, 1],
        [100, 1_000],
        [199, 1_500],
      ]),
    ).toBe(`${clear}${first}${clear}`);
  });
});
