import { configDefaults, defineConfig } from 'vitest/config';
import { NOT_DEFAULT } from '../../vitest.config.ts';

/** The default suite's files of the rooms that `run.ts` names: Stryker runs no projects. */
const rooms = process.env['TESTS_OF']?.split(',') ?? [];

export default defineConfig({
  test: {
    include: rooms.map((room) => `test/${room}/**/*.test.ts`),
    exclude: [...configDefaults.exclude, ...NOT_DEFAULT],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/fast-check-seed.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
