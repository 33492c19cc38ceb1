import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { OWN_TYPES } from '../domain.ts';
import { recordOf } from '../forward/rules/own-alerts.ts';
import { createRuleRunner } from '../forward/rules/run-rules.ts';
import { alertsToStore, markAlertsStored } from '../store/alerts.ts';
import { openForwardingDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { openLog } from '../store/read-log.ts';
import { closing } from './closing.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';
import { createRecordStore, type OwnRecords } from './store-records.ts';

/** The events to evaluate, and the rules. */
interface AlertingOptions {
  readonly databaseUrl: string;
  readonly live: Pick<LiveSettings, 'config'>;
  readonly observation: Pick<Observation, 'onAlert'>;
  readonly logger: Logger;
}

const POLL_MS = 200;

/** Alerts that are stored as events at a time. */
const STORED_AT_ONCE = 100;

/** Evaluates the alert rules of the settings in force from now on. The tables must be up to date. */
export function startAlerting(
  { databaseUrl, live, observation, logger }: AlertingOptions,
  started: AsyncDisposableStack,
): void {
  const { config } = live;
  const stopping = new AbortController();
  const db = openForwardingDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the alert rules', () => db.destroy()));
  const runner = createRuleRunner(db, openLog(db), (rule) => {
    observation.onAlert(rule);
    logger.warn({ rule }, `rule ${rule} raised an alert`);
  });
  const store = createRecordStore(db, logger, stopping.signal, config);
  let settled: LiveSettings['config']['rules'] | undefined;
  const work = async () => {
    const { rules } = config;
    // Without rules, nothing is to be done once what they remember is deleted: no connection is kept.
    if (rules.length === 0 && settled === rules) return 'done';
    const more = await runner.step(rules);
    await storeAlerts(db, store);
    settled = rules;
    return more;
  };
  const onError = (error: unknown) =>
    logger.warn({ err: error }, `the alert rules were not evaluated: ${describeError(error)}`);
  const alerting = repeat(POLL_MS, work, onError);
  const stop = async () => {
    stopping.abort();
    await alerting.stop();
  };
  started.defer(closing(logger, 'alert rules', stop));
}

/** Stores alerts as events. One that was stored before its process ended is a duplicate then. */
async function storeAlerts(db: Db, store: (records: OwnRecords) => Promise<void>): Promise<void> {
  const alerts = await alertsToStore(db, STORED_AT_ONCE);
  for (const source of new Set(alerts.map((alert) => alert.source))) {
    const records = alerts.filter((alert) => alert.source === source).map(recordOf);
    await store({ source, messageType: 'OTHER', sentType: OWN_TYPES.alert, origin: 'xiq-sink', records });
  }
  if (alerts.length > 0)
    await markAlertsStored(
      db,
      alerts.map(({ id }) => id),
    );
}
