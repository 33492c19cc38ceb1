import { loadConfig } from '../config.ts';
import { parseDestinations, type Destination } from '../forward/parse-destinations.ts';
import { parseSchedules, type ReportSchedule } from '../forward/parse-schedules.ts';
import { parseRules, type ConfiguredRule } from '../forward/rules/parse-rules.ts';

/** The settings, with the destinations and rules that only the forwarder can check. */
export type ServiceConfig = ReturnType<typeof loadSettings>;

/** Reads all settings. Throws one UsageError that lists every wrong one, destinations included. */
export function loadSettings(env: Readonly<Record<string, string | undefined>>) {
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
    /** The alert rules that are switched on. */
    rules,
    /** The reports that are sent after each period. */
    schedules,
    /** The environment that these settings were read from, which sources in the database refer to. Contains secrets. */
    variables: env,
  });
}
