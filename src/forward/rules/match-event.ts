import { viewEvent, type StoredEvent } from '../../store/stored-event.ts';
import type { MessageType } from '../../domain.ts';
import { createFilter, messageTypesOf, wildcard } from '../destination-filter.ts';
import { canBe, outcomeOf, recordKind } from '../../record-kind.ts';
import type { AlertRule, RuleFilter } from './alert-rule.ts';

/** The message types that this filter can select. */
export const ruleTypesOf = (filter: RuleFilter): readonly MessageType[] =>
  messageTypesOf(filter).filter((type) => filter.kinds === undefined || canBe(type, filter.kinds));

/** Creates the test whether an event matches one of the rule's filters, and none of its exceptions. */
export function createMatch({
  filter,
  except = [],
  time_zone: zone,
}: AlertRule): (event: StoredEvent) => boolean {
  const filters = filter.map((one) => createOne(one, zone));
  const exceptions = except.map((one) => createOne(one, zone));
  return (event) =>
    filters.some((matches) => matches(event)) && !exceptions.some((matches) => matches(event));
}

/** Creates the test whether an event occurred in the hours that are usual for the rule. */
export function createUsual({ hours, time_zone: zone }: AlertRule): (event: StoredEvent) => boolean {
  if (hours === undefined) return () => false;
  const localTime = createLocalTime(zone);
  return ({ occurredAt }) => {
    const { day, minute } = localTime(occurredAt);
    const isWorkDay = hours.days.some((name) => name === day);
    // From 22:00 to 06:00 ends on the next day.
    const isWithin =
      hours.from <= hours.to
        ? minute >= hours.from && minute < hours.to
        : minute >= hours.from || minute < hours.to;
    return isWorkDay && isWithin;
  };
}

function createOne(
  { kinds, outcome, where = {}, ...filter }: RuleFilter,
  zone: string,
): (event: StoredEvent) => boolean {
  const isWanted = createFilter(filter);
  const conditions = Object.entries(where).map(([column, patterns = []]) => ({
    read: createReader(column, zone),
    patterns: patterns.map(wildcard),
  }));
  return (event) => {
    if (!isWanted(event)) return false;
    if (kinds !== undefined || outcome !== undefined) {
      const kind = recordKind(event);
      if (kinds !== undefined && !kinds.includes(kind)) return false;
      if (outcome !== undefined && outcomeOf(kind, event) !== outcome) return false;
    }
    return conditions.every(({ read, patterns }) => {
      const value = read(event);
      return value !== null && patterns.some((matches) => matches(value));
    });
  };
}

/** Creates the reader of a column that a rule names; null if the event has no value. */
export function createReader(column: string, zone: string): (event: StoredEvent) => string | null {
  switch (column) {
    case 'message_type':
      return ({ messageType }) => messageType;
    case 'user_name':
      return (event) => viewEvent(event).user;
    case 'description':
      return (event) => viewEvent(event).description;
    case 'time_of_day': {
      const localTime = createLocalTime(zone);
      return ({ occurredAt }) => {
        const { day, minute } = localTime(occurredAt);
        const isNight = minute < 6 * 60 || minute >= 22 * 60;
        return `${day === 'sat' || day === 'sun' ? 'weekend' : 'weekday'} ${isNight ? 'night' : 'day'}`;
      };
    }
    default:
      return ({ columns }) => {
        const value = columns[column] ?? null;
        return value === null || typeof value === 'string' ? value : value.join(' ');
      };
  }
}

/** Day and minute of a time in a zone. Formatting takes 3 us, so each quarter of an hour is formatted once. */
function createLocalTime(zone: string): (time: string) => { readonly day: string; readonly minute: number } {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  let known = { quarter: Number.NaN, day: '', minute: 0 };
  return (time) => {
    const ms = Date.parse(time);
    const quarter = Math.floor(ms / QUARTER_MS);
    if (quarter !== known.quarter) {
      const parts = new Map(
        format.formatToParts(quarter * QUARTER_MS).map(({ type, value }) => [type, value]),
      );
      const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
      known = { quarter, day: (parts.get('weekday') ?? '').toLowerCase(), minute };
    }
    return { day: known.day, minute: known.minute + Math.floor((ms - quarter * QUARTER_MS) / 60_000) };
  };
}

/** Offsets of time zones are multiples of it. */
const QUARTER_MS = 900_000;
