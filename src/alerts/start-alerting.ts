import type { Logger } from 'pino';
import { OWN_TYPES } from '../events/domain.ts';
import { recordOf } from './alert-record.ts';
import { type ConfiguredRule, withStoredRules } from './parse-rules.ts';
import { createRuleRunner } from './run-rules.ts';
import { alertsToStore, markAlertsStored } from '../store/alerts/alerts.ts';
import type { Db } from '../store/server/database.ts';
import { openLog } from '../store/log/read-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import { createRecordStore, type OwnRecords } from '../handlers/store-batch.ts';

type Rules = readonly ConfiguredRule[];

const POLL_MS = 200;

/** The rules in the database are read again after so long. */
const SEARCHES_MS = 1_000;

/** Alerts that are stored as events at a time. */
const STORED_AT_ONCE = 500;

interface Alerting {
  /** Connections for the rules alone. */
  readonly db: Db;
  /** The settings in force. */
  readonly config: { readonly rules: Rules; readonly erasureKeyFile: string | undefined };
  /** Called when a rule has raised an alert. */
  readonly onAlert: (rule: string) => void;
  readonly logger: Logger;
}

/** Evaluates the alert rules of the settings in force, of the database and of saved searches. The tables must be up to date. */
export function startAlerting(
  { db, config, onAlert, logger }: Alerting,
  started: AsyncDisposableStack,
): void {
  const stopping = new AbortController();
  const runner = createRuleRunner(db, openLog(db), (rule) => {
    onAlert(rule);
    logger.warn({ rule }, `rule ${rule} raised an alert`);
  });
  const store = createRecordStore(db, logger, stopping.signal, config);
  let known: { readonly of: Rules; readonly at: number; readonly rules: Rules } | undefined;
  async function currentRules(): Promise<Rules> {
    const { rules: configured } = config;
    if (known?.of === configured && performance.now() - known.at < SEARCHES_MS) return known.rules;
    known = { of: configured, at: performance.now(), rules: await withStoredRules(db, configured) };
    return known.rules;
  }
  let isSettled = false;
  const work = async () => {
    const rules = await currentRules();
    // Without rules, nothing is to be done once what they remember is deleted.
    if (rules.length === 0 && isSettled) return 'idle';
    const outcome = await runner.step(rules);
    await storeAlerts(db, store);
    isSettled = rules.length === 0;
    return outcome;
  };
  const failure = 'the alert rules were not evaluated';
  repeatInBackground({ part: 'alert rules', failure, pauseMs: POLL_MS, work, stopping }, logger, started);
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
