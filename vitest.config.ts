import { configDefaults, defineConfig } from 'vitest/config';
import type { TestProjectConfiguration } from 'vitest/config';

interface SuiteOptions {
  readonly exclude?: readonly string[];
  readonly env?: Record<string, string>;
  readonly isolate?: boolean;
  readonly maxWorkers?: number;
  readonly sequence?: { readonly groupOrder: number };
}

/** One suite, which `vitest run --project NAME` runs. */
function suite(
  name: string,
  include: readonly string[],
  { exclude = [], ...options }: SuiteOptions = {},
): TestProjectConfiguration {
  return {
    extends: true,
    test: { name, include: [...include], exclude: [...configDefaults.exclude, ...exclude], ...options },
  };
}

/** Directories whose tests need servers, a browser, or the machine for themselves. */
const OWN_SUITES = ['**/attacks/**', '**/browser/**', '**/real-receivers/**', '**/tamper/**'];

/** Files named NAME.SUITE.test.ts belong to that suite, and not to the default one. */
const BY_SUFFIX = ['program', 'long', 'servers', 'timed'];

/** What the default suite leaves to the others, wherever its files are looked for. */
export const NOT_DEFAULT = [...OWN_SUITES, ...BY_SUFFIX.map((suffix) => `**/*.${suffix}.test.ts`)];

/** One file at a time, when nothing else runs. */
const ALONE = { maxWorkers: 1, sequence: { groupOrder: 1 } };

/** Tests of the default suite that try more draws, a hundred thousand ids or a year, or wait for locks or outages, in the long one. */
const LONGER = [
  'test/handlers/recorded-ids.test.ts',
  'test/forward/formats/audit-codes.test.ts',
  'test/alerts/simulated-year.test.ts',
  'test/queue/engine-conformance.test.ts',
  'test/alerts/backtest-rule.test.ts',
  'test/erasure/refusals.test.ts',
  'test/events/search-everywhere.test.ts',
  'test/inventory/refresh.test.ts',
  'test/store/log/horizon.test.ts',
  'test/store/log/log-model.test.ts',
  'test/seal/proof-folder.test.ts',
  'test/store/counts/arrivals.test.ts',
  'test/store/events/search-events.test.ts',
  'test/store/events/shared-events.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      // What `npm test` runs. The files of a worker share its modules: to load them anew took a third of the time.
      suite('default', ['test/**/*.test.ts'], {
        exclude: NOT_DEFAULT,
        isolate: false,
      }),
      // The started program from start to stop.
      suite('program', ['test/**/*.program.test.ts']),
      // Servers started again and again, logins by the hundred, waits for outages, locks and time-outs.
      suite('long', ['test/**/*.long.test.ts', ...LONGER], { env: { LONG_TESTS: '1' } }),
      // Failovers, rights and TLS of Redis and Postgres, poolers, backups and moves.
      suite('servers', ['test/**/*.servers.test.ts']),
      // Measures of time and memory.
      suite('timed', ['test/**/*.timed.test.ts'], ALONE),
      // Attacks on the started program, with the latency of good deliveries beside them.
      suite('attacks', ['test/attacks/*.test.ts'], ALONE),
      // Changes to the sealed log.
      suite('tamper', ['test/tamper/*.test.ts']),
      // The console in Chromium, whose times are measured, too.
      suite('console', ['test/console/browser/*.test.ts'], ALONE),
      // Forwarding to the receivers that Debian packages.
      suite('siem', ['test/forward/real-receivers/*.test.ts']),
      // The stand-in for the cloud, a program of its own.
      suite('emulator', ['emulator/test/**/*.test.ts']),
    ],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/fast-check-seed.ts',
    // Most of the long tests wait for a program or for an outage to end, not for the processor.
    maxWorkers: 3,
    maxConcurrency: 10,
    // The list of slow tests names those that wait, which are known.
    slowTestThreshold: 10_000,
    // Patience for a busy machine, which costs nothing on an idle one: the slowest tests start the whole program, again
    // and again, and stop databases under it; alone, the slowest takes 20 s.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
