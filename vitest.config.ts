import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that start the whole program again and again, for minutes: `npm run test:program` runs them. */
const PROGRAM = [
  'test/commands/doctor/doctor.test.ts',
  'test/e2e/alerts.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/dialects.test.ts',
  'test/e2e/first-start.test.ts',
  'test/e2e/forward.test.ts',
  'test/e2e/order.test.ts',
  'test/e2e/hostile-input.test.ts',
  'test/e2e/observe.test.ts',
  'test/e2e/owner.test.ts',
  'test/e2e/rules.test.ts',
  'test/e2e/seal.test.ts',
  'test/e2e/serve.test.ts',
  'test/e2e/settings.test.ts',
  'test/e2e/sources.test.ts',
  'test/e2e/subscribe.test.ts',
  'test/e2e/traces.test.ts',
  'test/security/admin-listener.test.ts',
];

/**
 * Tests that start servers again and again, log in by the hundred, or wait for outages, locks and time-outs:
 * `npm run test:long` runs them.
 */
const LONG = [
  'test/cloud/secrecy.test.ts',
  'test/commands/access.test.ts',
  'test/commands/quarantine.test.ts',
  'test/console/access/accounts.test.ts',
  'test/console/access/openid-log-in.test.ts',
  'test/console/access/openid.test.ts',
  'test/console/access/passwords.test.ts',
  'test/console/sources/source-scope.test.ts',
  'test/embedded/embedded-postgres.test.ts',
  'test/handlers/queue-rules.test.ts',
  'test/handlers/storing-rules.test.ts',
  'test/observe/silence.test.ts',
  'test/queue/delivery-queue.test.ts',
  'test/queue/fair-queue.test.ts',
  'test/security/overload.test.ts',
  'test/serve/readiness-causes.test.ts',
  'test/store/create-roles.test.ts',
  'test/store/deliveries-by-month.test.ts',
  'test/store/horizon.test.ts',
  'test/store/limit-quarantine.test.ts',
  'test/store/locks.test.ts',
  'test/store/migrations.test.ts',
  'test/store/move-tables.test.ts',
  'test/store/open-month.test.ts',
  'test/store/reader-role.test.ts',
];

/** Short tests by default; with the long ones, of a hundred thousand ids or codes, or of a year. */
const LONGER = [
  'test/handlers/recorded-ids.test.ts',
  'test/forward/formats/audit-codes.test.ts',
  'test/forward/rules/simulated-year.test.ts',
];

/**
 * Failovers, rights and TLS of Redis and Postgres, poolers, rolling restarts, backups and moves: `npm run test:servers`
 * runs them.
 * `npm run test:operations -- --short` does the like under load with each change.
 */
const SERVERS = [
  'test/e2e/backup.test.ts',
  'test/e2e/move-to.test.ts',
  'test/e2e/other-server.test.ts',
  'test/queue/redis-installation.test.ts',
  'test/queue/redis-rights.test.ts',
  'test/queue/redis-tls.test.ts',
  'test/store/tls.test.ts',
  'test/e2e/lossy-failover.test.ts',
  'test/e2e/stopping.test.ts',
  'test/queue/redis-cluster.test.ts',
  'test/queue/redis-failover.test.ts',
  'test/store/pgbouncer.test.ts',
];

/** Forwarding to syslog servers of Debian: `npm run test:siem` runs it. */
const RECEIVERS = 'test/forward/real-receivers/*.test.ts';

/** Attacks on the real program, with measured latencies, on a machine that runs nothing else: `npm run test:attacks` runs them. */
const ATTACKS = 'test/attacks/*.test.ts';

/** Changes to the sealed log: `npm run test:tamper` runs it. */
const TAMPER = 'test/tamper/*.test.ts';

const isSet = (name: string) => process.env[name] !== undefined;

const skipped = [
  ...(isSet('SLOW_TESTS') ? [] : PROGRAM),
  ...(isSet('LONG_TESTS') ? [] : LONG),
  ...(isSet('SERVER_TESTS') ? [] : SERVERS),
  ...(isSet('SIEM_TEST_EVENTS') ? [] : [RECEIVERS]),
  ...(isSet('ATTACKS') ? [] : [ATTACKS]),
  ...(isSet('TAMPER_EVENTS') ? [] : [TAMPER]),
];

/** Each is set by the command of a suite of its own. */
const SUITES = [
  'SLOW_TESTS',
  'LONG_TESTS',
  'SERVER_TESTS',
  'EMULATOR_TESTS',
  'SIEM_TEST_EVENTS',
  'CONSOLE_TEST',
  'ATTACKS',
  'TAMPER_EVENTS',
];

/** What a command runs unless it names files. */
function included(): string[] {
  if (isSet('SLOW_TESTS')) return PROGRAM;
  if (isSet('LONG_TESTS')) return [...LONG, ...LONGER];
  if (isSet('SERVER_TESTS')) return SERVERS;
  // The emulator is a program of its own: `npm run test:emulator` runs its tests.
  return [isSet('EMULATOR_TESTS') ? 'emulator/test/**/*.test.ts' : 'test/**/*.test.ts'];
}

export default defineConfig({
  test: {
    include: included(),
    exclude: [...configDefaults.exclude, ...skipped],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/fast-check-seed.ts',
    // Most of the long tests wait for a program or for an outage to end, not for the processor.
    maxWorkers: 3,
    // The files of a worker share its modules: to load them anew for each file took a third of the time of `npm test`.
    isolate: SUITES.some(isSet),
    // Patience for a busy machine, which costs nothing on an idle one: the slowest tests start the whole program, again
    // and again, and stop databases under it; alone, the slowest takes 20 s.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A machine that others use, too, stands still for seconds now and then. The report names what was run again.
    retry: isSet('CI') ? 1 : 0,
  },
});
