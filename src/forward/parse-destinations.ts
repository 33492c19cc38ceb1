import { hash } from 'node:crypto';
import { z } from 'zod';
import { DEFAULT_DESTINATION, destinationNames, type ForwardingSettings } from '../config/destinations.ts';
import { plainProblems } from '../config/setting-types.ts';
import { NotFoundError, SettingsError } from '../lib/errors.ts';
import { DEFAULT_LIMITS, type Batching } from './batch-events.ts';
import { destinationFilterSchema } from './destination-filter.ts';
import { createFormat, FORMAT_NAMES, type FormatName } from './formats/formats.ts';
import { DEFAULT_REDACTION_RULES, redactionRulesSchema, type RedactionRules } from './redaction-rules.ts';
import { OCSF_VERSIONS } from './formats/ocsf.ts';
import type { Sender } from './sender.ts';
import { SENDER_TYPES, type SenderType } from './senders/sender-types.ts';

export interface Destination extends Batching {
  readonly type: SenderTypeName;
  /** Where it is defined: in the settings, or in the database, to which the console adds it. */
  readonly origin: 'settings' | 'database';
  readonly formatName: FormatName;
  /** The same for equal settings, credentials and rules of redaction included. */
  readonly fingerprint: string;
  /** Creates the sender, which connects with the first batch. */
  createSender(): Sender;
}

type SenderTypeName = keyof typeof SENDER_TYPES;

const isTypeName = (name: unknown): name is SenderTypeName =>
  typeof name === 'string' && Object.hasOwn(SENDER_TYPES, name);

const EVENTS = 'must be a whole number of events from 1 to 5000';
const SECONDS = 'must be 0 to 3600 seconds';
const BYTES = 'must be a whole number of bytes from 1000 to 10000000';

/** The options of every destination; all others belong to its type. */
const commonSchema = z.object({
  type: z.custom<SenderTypeName>(isTypeName, `must be one of ${Object.keys(SENDER_TYPES).join(', ')}`),
  format: z.enum(FORMAT_NAMES, `must be one of ${FORMAT_NAMES.join(', ')}`).optional(),
  ocsf_version: z.enum(OCSF_VERSIONS, `must be one of ${OCSF_VERSIONS.join(', ')}`).optional(),
  filter: destinationFilterSchema.prefault({}),
  batch: z
    .strictObject({
      events: z.int(EVENTS).min(1, EVENTS).max(5_000, EVENTS).exactOptional(),
      bytes: z.int(BYTES).min(1_000, BYTES).max(10_000_000, BYTES).exactOptional(),
      seconds: z.number(SECONDS).min(0, SECONDS).max(3_600, SECONDS).exactOptional(),
    })
    .default({}),
});

/** The options that every type has. */
export const COMMON_OPTIONS: readonly string[] = Object.keys(commonSchema.shape);

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
  } else if (forwardToken !== undefined) problems.push('FORWARD_TOKEN is set without FORWARD_TO');
  problems.push(...duplicates(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return destinations.filter((destination) => destination !== undefined);
}

/** The types that write on this machine. Only the settings may use them. */
const LOCAL_TYPES: ReadonlySet<unknown> = new Set(['file', 'stdout']);

/**
 * Reads a destination that was added to the database. `problems` gains a line for each fault, and the result is undefined
 * then. What gives access to this machine or to services that trust it stays in the settings.
 */
export function parseAddedDestination(
  name: string,
  given: Readonly<Record<string, unknown>>,
  redaction: unknown,
  problems: string[],
): Destination | undefined {
  const own: string[] = [];
  const report = reporter(`destination ${name}`, own);
  const destination = parseDestination(name, given, parseRules(redaction, []), report);
  if (LOCAL_TYPES.has(given['type'])) report(['type'], 'only the settings may have this type');
  if ('allow_private' in given) report(['allow_private'], 'only the settings may set this');
  if (given['type'] === 's3' && given['access_key_id'] === undefined)
    report(['access_key_id'], "only the settings may omit it to use this machine's keys");
  problems.push(...own);
  return destination && own.length === 0 ? { ...destination, origin: 'database' } : undefined;
}

/** The destination of this name. Throws a NotFoundError that lists the configured names when there is none. */
export function findDestination(configured: readonly Destination[], name: string): Destination {
  const destination = configured.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = configured.map((one) => one.name).join(', ');
  const message = `there is no destination "${name}"; configured: ${names === '' ? 'none' : names}`;
  throw new NotFoundError('UNKNOWN_DESTINATION', message);
}

type Report = (path: readonly PropertyKey[], message: string) => void;

const reporter =
  (what: string, problems: string[]): Report =>
  (path, message) =>
    problems.push(`${[what, path.join('.')].filter((part) => part !== '').join(': ')}: ${message}`);

/** Undefined if a problem was reported. */
function parseDestination(
  name: string,
  given: Readonly<Record<string, unknown>>,
  rules: RedactionRules,
  report: Report,
): Destination | undefined {
  const common = commonSchema.safeParse(given, plainProblems);
  for (const { path, message } of common.error?.issues ?? []) report(path, message);
  const { type, ...others } = given;
  const options = Object.fromEntries(
    Object.entries(others).filter(([option]) => !COMMON_OPTIONS.includes(option)),
  );
  if (!isTypeName(type)) return undefined;
  const senderType: SenderType = SENDER_TYPES[type];
  const parsed = senderType.options.safeParse(options, plainProblems);
  for (const { path, message } of parsed.error?.issues ?? []) report(path, message);
  if (!common.success) return undefined;
  const formatName = common.data.format ?? senderType.formats[0];
  if (!senderType.formats.includes(formatName)) {
    report(['format'], `must be one of ${senderType.formats.join(', ')} for ${type}`);
    return undefined;
  }
  const { filter, batch, ocsf_version: ocsfVersion } = common.data;
  if (ocsfVersion !== undefined && formatName !== 'ocsf') report(['ocsf_version'], 'needs the format ocsf');
  const limits = { ...(senderType.limits ?? DEFAULT_LIMITS), ...batch };
  return {
    name,
    type,
    origin: 'settings',
    formatName,
    format: createFormat(formatName, rules, ocsfVersion),
    filter,
    limits,
    fingerprint: hash('sha256', JSON.stringify([given, rules]), 'hex'),
    createSender: () => senderType.create(options, formatName),
  };
}

/** Rules from the settings add to the default rules: a custom list must not expose passwords. */
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
  return [...twice].map((name) => `two destinations are named "${name}"`);
}

/** The options that a URL in the settings stands for, by scheme, with the place of its credential. */
const SCHEMES: Readonly<Record<string, (url: URL, token: string | undefined) => object>> = {
  'syslog+udp:': (url) => ({ type: 'syslog', transport: 'udp', ...receiver(url) }),
  'syslog+tcp:': (url) => ({ type: 'syslog', transport: 'tcp', ...receiver(url) }),
  'syslog+tls:': (url) => ({ type: 'syslog', transport: 'tls', ...receiver(url) }),
  'relp:': (url) => ({ type: 'relp', ...receiver(url) }),
  'relp+tls:': (url) => ({ type: 'relp+tls', ...receiver(url) }),
  'splunk+https:': (url, token) => ({ type: 'splunk_hec', url: httpsUrl(url), token }),
  'elasticsearch+https:': (url, token) => ({ type: 'elasticsearch', url: httpsUrl(url), api_key: token }),
  'https:': (url, token) => ({
    type: 'https',
    url: httpsUrl(url),
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  }),
  'kafka:': (url) => ({ type: 'kafka', ...topic(url) }),
  'kafka+tls:': (url) => ({ type: 'kafka', tls: {}, ...topic(url) }),
  'smtp:': (url) => ({ type: 'smtp', ...receiver(url) }),
  'smtps:': (url) => ({ type: 'smtp', security: 'tls', port: 465, ...receiver(url) }),
  'file:': (url) => ({ type: 'file', path: decodeURIComponent(url.pathname) }),
  'stdout:': () => ({ type: 'stdout' }),
};

const TAKES_TOKEN = new Set(['splunk+https:', 'elasticsearch+https:', 'https:']);

/**
 * Reads the destination in FORWARD_TO as if it were in the settings file: the scheme names the type, the query contains
 * `format` and the simple options. If the URL is wrong, adds a line to `problems` and returns undefined.
 */
function destinationOfUrl(
  forwardTo: string,
  token: string | undefined,
  problems: string[],
): Record<string, unknown> | undefined {
  const url = URL.parse(forwardTo);
  const make = SCHEMES[url?.protocol ?? ''];
  if (url === null || make === undefined) {
    const schemes = Object.keys(SCHEMES).map((scheme) => (scheme === 'stdout:' ? scheme : `${scheme}//`));
    problems.push(`FORWARD_TO must be a URL that begins with ${schemes.join(', ')}`);
    return undefined;
  }
  if (url.username !== '' || url.password !== '') {
    problems.push('FORWARD_TO must not contain a user name or password: set a token in FORWARD_TOKEN');
    return undefined;
  }
  if (token !== undefined && !TAKES_TOKEN.has(url.protocol)) {
    problems.push(`FORWARD_TOKEN: ${url.protocol} does not use a token`);
  }
  const options = [...url.searchParams].map(([name, value]) => [name, simpleValue(value)] as const);
  return { ...Object.fromEntries(options), ...make(url, token) };
}

const receiver = (url: URL) => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  ...(url.port === '' ? {} : { port: Number(url.port) }),
});

const topic = (url: URL) => ({ brokers: [url.host], topic: decodeURIComponent(url.pathname.slice(1)) });

const httpsUrl = ({ host, pathname }: URL) => `https://${host}${pathname}`;

function simpleValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
