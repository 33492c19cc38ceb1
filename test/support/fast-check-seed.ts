/**
 * Runs every property test from the seed in FC_SEED, to repeat a failure or to try other draws. Without it fast-check
 * draws a seed of its own, and prints it when a property fails.
 */
const seed = process.env['FC_SEED'];

if (seed !== undefined) {
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(seed) });
}
