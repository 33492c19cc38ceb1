/** How often a costly property is tried: so many times in the suite `long`, a third as often in the default one. */
export const runs = (long: number): number =>
  process.env['LONG_TESTS'] === undefined ? Math.ceil(long / 3) : long;
