import { configDefaults, defineConfig } from 'vitest/config';
import { NOT_DEFAULT } from '../../vitest.config.ts';

/** The default suite's files of one room: Stryker names its directory, and runs no projects. */
export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...NOT_DEFAULT],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/fast-check-seed.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
