import { createLocalTime, createSearchMatch } from '../events/match-search.ts';
import type { StoredEvent } from '../events/stored-event.ts';
import type { AlertRule } from './alert-rule.ts';

/** Creates the test whether an event matches one of the rule's filters, and none of its exceptions. */
export function createMatch({
  filter,
  except = [],
  time_zone: zone,
}: AlertRule): (event: StoredEvent) => boolean {
  const filters = filter.map((one) => createSearchMatch(one, zone));
  const exceptions = except.map((one) => createSearchMatch(one, zone));
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
