import { loadConfig } from '../config/config.ts';
import { parseDestinations, type Destination } from '../forward/parse-destinations.ts';
import { parseSchedules, type ReportSchedule } from '../reports/parse-schedules.ts';
import { parseRules, type ConfiguredRule } from '../alerts/parse-rules.ts';
import type { Environment } from '../config/references.ts';

/** The settings, with the destinations and rules that only the forwarder can check. */
export type ServiceConfig = ReturnType<typeof loadSettings>;

/** Reads all settings. Throws one UsageError that lists every wrong one, destinations included. */
export function loadSettings(env: Environment) {
  let destinations: readonly Destination[] = [];
  let rules: readonly ConfiguredRule[] = [];
  let schedules: readonly ReportSchedule[] = [];
  const config = loadConfig(env, [
    (forwarding) => (destinations = parseDestinations(forwarding)),
    (forwarding) => (rules = parseRules(forwarding)),
    (forwarding) => (schedules = parseSchedules(forwarding, destinations)),
  ]);
  return Object.freeze({
    ...config,
    destinations,
    rules,
    /** The reports that are sent after each period. */
    schedules,
    /** The environment that these settings were read from, which sources in the database refer to. Contains secrets. */
    variables: env,
  });
}
