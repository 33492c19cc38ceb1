import { continueOnThisServer } from '../store/extend-log.ts';
import { startAlerting } from './alerting.ts';
import type { PartOptions } from './background.ts';
import { startForwardings } from './forwarding.ts';
import { startHistorySweep } from './history.ts';
import { startInventory } from './inventory.ts';
import { startProving, startSequencing } from './ledger.ts';
import { startIndexBuilding } from './maintenance.ts';
import { prepareTables } from './open-store.ts';
import { recordStart } from './record-start.ts';
import { forwardsIn, storesIn, type Role } from './roles.ts';
import { startReporting } from './scheduled-reports.ts';
import type { Start } from './start-with-database.ts';
import { startStoring, type StoringOptions } from './storing.ts';

/** The parts of a role that need the database. They bring its tables up to date first, or check them. */
export function startOf(role: Role, options: StoringOptions & PartOptions): Start {
  const { config, databaseUrl, db, logger } = options;
  const { startSteps: steps } = options.observation;
  return async (started, signal) => {
    const applied = await steps.run('migrations', () => prepareTables(config, databaseUrl, db, signal));
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    await recordStart(db, config, role);
    signal.throwIfAborted();
    await steps.run('continuing the log', () => continueOnThisServer(db));
    startSequencing(options, started);
    if (storesIn(role)) {
      if (config.migrates) startIndexBuilding({ config, databaseUrl, db, logger }, started);
      const watch = await steps.run('start of the worker', () => startStoring(options, started));
      options.observation.followArrivals(() => watch.latest());
      startHistorySweep(options, started);
      startInventory(options, started);
      startProving(options, started);
    }
    signal.throwIfAborted();
    if (forwardsIn(role)) {
      await steps.run('start of forwarding', () => startForwardings(options, started));
      startAlerting(options, started);
      startReporting(options, started);
    }
    steps.done();
  };
}
