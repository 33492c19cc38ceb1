import { z } from 'zod';
import { DEFAULT_DESTINATION, destinationNames } from '../config/destinations.ts';
import type { ForwardingSettings } from '../config/destinations.ts';
import { SettingsError } from '../errors.ts';
import { eventFilterSchema } from './filter.ts';
import type { EventFilter } from './filter.ts';
import { createFormat, FORMAT_NAMES } from './formats/formats.ts';
import type { FormatName } from './formats/formats.ts';
import { DEFAULT_LIMITS } from './forward-events.ts';
import type { BatchLimits } from './forward-events.ts';
import { destinationOfUrl } from './forward-to.ts';
import { DEFAULT_REDACTION_RULES, redactionRulesSchema } from './redaction-rules.ts';
import type { RedactionRules } from './redaction-rules.ts';
import type { Sender } from './sender.ts';
import { SENDER_TYPES } from './senders/sender-types.ts';
import type { Format } from './stored-event.ts';

/** A destination of the settings, checked. */
export interface Destination {
  readonly name: string;
  readonly type: SenderTypeName;
  readonly formatName: FormatName;
  /** Redacts and writes an event in the destination's language. */
  readonly format: Format;
  readonly filter: EventFilter;
  readonly limits: BatchLimits;
  /** Nothing is connected to before the first batch. */
  createSender(): Sender;
}

type SenderTypeName = keyof typeof SENDER_TYPES;

const isTypeName = (name: unknown): name is SenderTypeName =>
  typeof name === 'string' && Object.hasOwn(SENDER_TYPES, name);

const EVENTS = 'takes a whole number of events from 1 to 5000';
const BYTES = 'takes a whole number of bytes from 1000 to 10000000';

/** What every destination may say; what it says besides are options of its type. */
const commonSchema = z.object({
  type: z.custom<SenderTypeName>(isTypeName, `takes one of ${Object.keys(SENDER_TYPES).join(', ')}`),
  format: z.enum(FORMAT_NAMES, `takes one of ${FORMAT_NAMES.join(', ')}`).optional(),
  filter: eventFilterSchema.default({}),
  batch: z
    .strictObject({
      events: z.int(EVENTS).min(1, EVENTS).max(5_000, EVENTS).default(DEFAULT_LIMITS.events),
      bytes: z.int(BYTES).min(1_000, BYTES).max(10_000_000, BYTES).default(DEFAULT_LIMITS.bytes),
    })
    .default(DEFAULT_LIMITS),
});

/**
 * The destinations of the settings. Throws one SettingsError that lists everything wrong with any of them, by name and
 * option, and quotes no value, since many are secret.
 */
export function parseDestinations(settings: ForwardingSettings): readonly Destination[] {
  const problems: string[] = [];
  const rules = parseRules(settings.redaction, problems);
  const destinations = settings.destinations.map(({ name, ...given }) =>
    parseDestination(name, given, rules, reporter(`XIQ_SINK_CONFIG: destination ${name}`, problems)),
  );
  const { forwardTo, forwardToken } = settings;
  if (forwardTo !== undefined) {
    const given = destinationOfUrl(forwardTo, forwardToken, problems);
    const report = reporter('FORWARD_TO', problems);
    if (given !== undefined) destinations.push(parseDestination(DEFAULT_DESTINATION, given, rules, report));
  } else if (forwardToken !== undefined) problems.push('FORWARD_TOKEN: is of no use without FORWARD_TO');
  problems.push(...duplicates(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return destinations.filter((destination) => destination !== undefined);
}

type Report = (path: readonly PropertyKey[], message: string) => void;

const reporter =
  (what: string, problems: string[]): Report =>
  (path, message) =>
    problems.push(`${[what, path.join('.')].filter((part) => part !== '').join(': ')}: ${message}`);

/** Undefined when something was reported. */
function parseDestination(
  name: string,
  given: Readonly<Record<string, unknown>>,
  rules: RedactionRules,
  report: Report,
): Destination | undefined {
  const common = commonSchema.safeParse(given);
  for (const { path, message } of common.error?.issues ?? []) report(path, message);
  const { type, format: _format, filter: _filter, batch: _batch, ...options } = given;
  if (!isTypeName(type)) return undefined;
  const senderType = SENDER_TYPES[type];
  const parsed = senderType.options.safeParse(options);
  for (const { path, message } of parsed.error?.issues ?? []) report(path, message);
  if (!common.success) return undefined;
  const formatName = common.data.format ?? senderType.formats[0];
  if (!senderType.formats.includes(formatName)) {
    report(['format'], `${type} carries ${senderType.formats.join(', ')}`);
    return undefined;
  }
  const { filter, batch: limits } = common.data;
  return {
    name,
    type,
    formatName,
    format: createFormat(formatName, rules),
    filter,
    limits,
    createSender: () => senderType.create(options),
  };
}

/** What the settings name is hidden besides what always is: a list of one's own must not lay open the passwords. */
function parseRules(given: unknown, problems: string[]): RedactionRules {
  const { data, error } = redactionRulesSchema.safeParse(given ?? {});
  const report = reporter('XIQ_SINK_CONFIG: redaction', problems);
  for (const { path, message } of error?.issues ?? []) report(path, message);
  const { members, texts } = data ?? DEFAULT_REDACTION_RULES;
  return {
    members: [...new Set([...DEFAULT_REDACTION_RULES.members, ...members])],
    texts: [...new Set([...DEFAULT_REDACTION_RULES.texts, ...texts])],
  };
}

function duplicates(settings: ForwardingSettings): string[] {
  const names = destinationNames(settings);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...twice].map((name) => `two destinations have the name "${name}"`);
}
