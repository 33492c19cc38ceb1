import { z } from 'zod';
import { settingName } from '../config/setting-types.ts';
import { destinationNames, type ForwardingSettings } from '../config/destinations.ts';
import { SettingsError } from '../lib/errors.ts';
import { isTimeZone, PERIODS } from '../lib/text/parse-time.ts';
import { REPORT_NAMES } from '../store/reports/report-names.ts';
import { reportOf } from '../store/reports/reports.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import { REPORT_TYPES } from '../forward/senders/sender-types.ts';

const scheduleSchema = z.strictObject({
  name: settingName,
  report: z.enum(REPORT_NAMES, `must be one of ${REPORT_NAMES.join(', ')}`),
  every: z.enum(PERIODS, `must be one of ${PERIODS.join(', ')}`),
  time_zone: z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin').default('UTC'),
  destination: z.string(),
  /** Only events of this source. */
  source: z.string().optional(),
  user: z.string().min(1).optional(),
});

export type ReportSchedule = z.output<typeof scheduleSchema>;

/** The scheduled reports of the settings. Throws a SettingsError that lists everything wrong with any of them. */
export function parseSchedules(settings: ForwardingSettings, destinations: readonly Destination[]) {
  const { data: schedules = [], error } = z.array(scheduleSchema).safeParse(settings.reports ?? []);
  const problems = (error?.issues ?? []).map(
    ({ path, message }) =>
      `XIQ_SINK_CONFIG: reports${path.length === 0 ? '' : `.${path.join('.')}`}: ${message}`,
  );
  for (const schedule of schedules) {
    const isRepeated = schedules.find(({ name }) => name === schedule.name) !== schedule;
    const found = isRepeated
      ? ['another schedule has this name']
      : contradictionsOf(schedule, destinations, destinationNames(settings));
    problems.push(...found.map((problem) => `XIQ_SINK_CONFIG: reports: ${schedule.name}: ${problem}`));
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return schedules;
}

function contradictionsOf(
  { report, destination: name, user, source }: ReportSchedule,
  destinations: readonly Destination[],
  names: readonly string[],
): readonly string[] {
  const problems: string[] = [];
  const destination = destinations.find((one) => one.name === name);
  if (!names.includes(name)) problems.push(`destination: there is no destination ${name}`);
  // One with wrong options is reported as such.
  if (destination !== undefined && !REPORT_TYPES.some((type) => type === destination.type)) {
    problems.push(
      `destination: ${name} is of the type ${destination.type}, which cannot receive reports; use ${REPORT_TYPES.join(', ')}`,
    );
  }
  const { isOfPerson = false, isOfOperators = false } = reportOf(report);
  if (isOfPerson !== (user !== undefined)) {
    problems.push(
      isOfPerson
        ? `user: is required for the report ${report}`
        : `user: is not allowed for the report ${report}`,
    );
  }
  if (isOfOperators && source !== undefined) problems.push(`source: is not allowed for the report ${report}`);
  return problems;
}
