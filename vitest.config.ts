import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // Most of the long tests wait for a program or for an outage to end, not for the processor.
    maxWorkers: 3,
    // The slowest tests start the whole program and stop databases under it.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
