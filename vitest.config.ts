import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // The slowest tests start the whole program and stop databases under it.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
