import { z } from 'zod';
import { settingName } from '../config/setting-types.ts';
import { DAY_MS } from '../lib/clock.ts';
import { isTimeZone, parseDuration } from '../lib/text/parse-time.ts';
import { MESSAGE_TYPES } from '../events/domain.ts';
import { FIELDS } from '../events/message-types.ts';
import { eventConditionsSchema, termsOfConditions } from '../forward/destination-filter.ts';
import { actionOf, RECORD_KINDS } from '../events/record-kind.ts';
import { columnTerm, exactTerms } from '../events/search-query.ts';
import { SEVERITIES } from '../events/rule-alert.ts';

/** The columns of the view `events`, and what is read from the time of an event in the rule's time zone. */
const SHARED_COLUMNS = [
  'user_name',
  'code',
  'client_mac',
  'ap_mac',
  'description',
  'message_type',
  'time_of_day',
];

/** The columns that conditions and groups may name: those of docs/tables.md. */
const RULE_COLUMNS: readonly string[] = [
  ...new Set([
    ...SHARED_COLUMNS,
    ...MESSAGE_TYPES.flatMap((type) => FIELDS[type].map(({ column }) => column)),
  ]),
];

const column = z.enum(
  RULE_COLUMNS,
  'must be a column of the view events or of a message type (docs/tables.md)',
);
const texts = z.union([
  z
    .string()
    .min(1)
    .transform((text) => [text]),
  z.array(z.string().min(1)).min(1),
]);

/** A duration such as 90s, 10m, 24h or 7d, in milliseconds. */
const duration = z
  .string()
  .regex(/^[1-9]\d{0,5}[smhd]$/, 'must be a duration such as 90s, 10m, 24h or 7d')
  .transform((text) => parseDuration(text) ?? 0);

const clockTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 07:30')
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** Which events a rule looks at: the filter of a destination, and further conditions. All that are set must match. */
const ruleFilterSchema = eventConditionsSchema
  .extend({
    kinds: z.array(z.enum(RECORD_KINDS)).min(1).optional(),
    outcome: z.enum(['success', 'failure', 'unknown']).optional(),
    /** Columns and the texts that they may have; `*` matches any characters, and case does not matter. */
    where: z.partialRecord(column, texts).optional(),
  })
  .transform(({ kinds, outcome, where = {}, ...given }) => [
    ...termsOfConditions(given),
    ...exactTerms({ action: kinds?.map(actionOf), outcome }),
    ...Object.entries(where).map(([name, patterns = []]) => columnTerm(name, patterns)),
  ]);

const filters = z.union([ruleFilterSchema.transform((filter) => [filter]), z.array(ruleFilterSchema).min(1)]);

/** A rule as the settings describe it. */
export const alertRuleSchema = z.strictObject({
  name: settingName,
  title: z.string().min(1).max(200),
  severity: z.enum(SEVERITIES).default('medium'),
  /** One filter, or several of which one must match. */
  filter: filters,
  /** The number of events or, with `distinct`, of values. */
  count: z.int().min(1).max(10_000).default(1),
  within: duration.optional(),
  group_by: z.array(column).min(1).max(5).default([]),
  distinct: column.optional(),
  /** Two places, each with latitude and longitude, that are more than this many metres apart. */
  apart: z.number().positive().optional(),
  /** The time after which a group that is no longer heard raises an alert. */
  silent_for: duration.optional(),
  /** Events that match one of these filters do not count. */
  except: filters.optional(),
  /** Only events outside of these hours raise an alert. */
  hours: z
    .strictObject({
      from: clockTime,
      to: clockTime,
      days: z.array(z.enum(DAYS)).min(1).default(['mon', 'tue', 'wed', 'thu', 'fri']),
    })
    .optional(),
  /** Only events with values that their group did not have for so long. A group is known after `learning`. */
  first_seen: z
    .strictObject({ of: z.array(column).min(1).max(5), within: duration, learning: duration.default(0) })
    .optional(),
  time_zone: z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin').default('UTC'),
  /** The names of destinations. Undefined: all. */
  destinations: z.array(z.string()).optional(),
});

/** A rule, checked. Durations are in milliseconds, times of day in minutes. */
export type AlertRule = z.output<typeof alertRuleSchema>;

/** Says what is contradictory in a rule: the member and the reason. */
export function contradictionsOf(rule: AlertRule): readonly (readonly [path: string, message: string])[] {
  const { count, within, distinct, apart } = rule;
  const found: [string, string][] = [];
  if (within === undefined && (count > 1 || apart !== undefined))
    found.push(['within', 'is required with count or apart']);
  if (within !== undefined && within > 31 * DAY_MS) found.push(['within', 'must be at most 31d']);
  if (distinct !== undefined && count === 1) found.push(['count', 'must be at least 2 with distinct']);
  if (apart !== undefined && (count > 1 || distinct !== undefined))
    found.push(['apart', 'cannot be combined with count or distinct']);
  if (apart !== undefined && rule.group_by.length === 0) found.push(['group_by', 'is required with apart']);
  if (rule.silent_for !== undefined) {
    if (rule.group_by.length === 0) found.push(['group_by', 'is required with silent_for']);
    const others = [within, distinct, apart, rule.hours, rule.first_seen];
    if (count > 1 || others.some((one) => one !== undefined))
      found.push([
        'silent_for',
        'cannot be combined with count, within, distinct, apart, hours or first_seen',
      ]);
  }
  return found;
}
