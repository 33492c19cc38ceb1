import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { commandName } from '../../lib/text/command-name.ts';
import { MESSAGE_TYPES } from '../../events/domain.ts';
import { UsageError } from '../../lib/errors.ts';
import { parsePosition } from '../../events/event-position.ts';
import { parseMacAddress } from '../../events/mac-address.ts';
import { parseSearch } from '../../events/search-query.ts';
import { isTimeZone, monthRange, parseTime } from '../../lib/text/parse-time.ts';

/** The forms of a time, as help texts list them. */
export const TIME_FORMS = '2026-01-31, 2026-01-31T08:00, or 90m, 12h, 7d ago';

/** `--source`, for commands that work on all sources without it. */
export const sourceOption = () => new Option('--source <name>', 'only this source');

export const typeOption = () => new Option('--type <type>', 'message type').choices(MESSAGE_TYPES);

export function typesOption() {
  return new Option('--type <types...>', 'one or more message types').choices(MESSAGE_TYPES);
}

/** The examples below a help text, with the program's name as a person types it here. */
export function examples(...lines: string[]): () => string {
  return () => {
    const typed = lines.map((line) => line.replaceAll(/(?<=^|[\s(])xiq-sink(?= )/g, commandName()));
    return `\nExamples:\n${typed.map((line) => `  ${line}`).join('\n')}`;
  };
}

/** Adds a command to another one, with examples below its help text. */
export function defineCommand(parent: Command, name: string, description: string, lines: readonly string[]) {
  return parent
    .command(name)
    .description(description)
    .addHelpText('after', examples(...lines));
}

/** Parses a whole number. It stays text, because an id can have more digits than a number keeps. */
export function wholeNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return text;
}

/** Parses how many items are listed at most: of none, nothing could be said. */
export function atLeastOne(text: string): string {
  if (Number(wholeNumber(text)) === 0) throw new InvalidArgumentError('It must be at least 1.');
  return text;
}

export function macAddress(text: string): string {
  const parsed = parseMacAddress(text);
  if (parsed === undefined) throw new InvalidArgumentError('It must have 12 hexadecimal digits.');
  return parsed;
}

export function eventId(text: string): string {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError('It must be the id of an event.');
  }
  return text.toLowerCase();
}

/** The text of a time, which `readTime` reads once the time zone is known too. */
export function time(text: string): string {
  if (parseTime(text, new Date()) === undefined)
    throw new InvalidArgumentError(
      'It must be a time such as 2026-01-31T08:00, or how long ago, such as 12h.',
    );
  return text;
}

/** `--tz`, the time zone in which times without an offset are read. */
export function zoneOption() {
  return new Option('--tz <zone>', 'time zone of times without an offset, such as Europe/Berlin')
    .env('TZ')
    .argParser(timeZone)
    .default('UTC');
}

function timeZone(text: string): string {
  // A leading colon is how POSIX marks a name in TZ.
  const zone = text.replace(/^:/, '') || 'UTC';
  if (!isTimeZone(zone))
    throw new InvalidArgumentError('It must be an IANA time zone such as Europe/Berlin.');
  return zone;
}

export function readTime(text: string, zone: string, now = new Date()): Date {
  const read = parseTime(text, now, zone);
  if (read === undefined) throw new UsageError(`"${text}" is not a time`);
  return read;
}

interface WrittenRange {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly tz: string;
}

/** Options with their range read in its time zone. Throws a UsageError if it ends before it begins. */
export function withRange<T extends WrittenRange>(options: T) {
  const { tz, since: from, until: to, ...others } = options;
  const now = new Date();
  const since = from === undefined ? undefined : readTime(from, tz, now);
  const until = to === undefined ? undefined : readTime(to, tz, now);
  if (since !== undefined && until !== undefined && since > until) {
    throw new UsageError(`--since (${since.toISOString()}) must be before --until (${until.toISOString()})`);
  }
  return { ...others, since, until };
}

/** Parses the position that a page of events ended with. */
export function position(text: string) {
  const parsed = parsePosition(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It must be a position that an earlier page printed after --after.');
  return parsed;
}

export function searchLine(text: string) {
  const { terms, problem } = parseSearch(text);
  if (terms === undefined) throw new InvalidArgumentError(`${problem}.`);
  return terms;
}

/** A month as an option's value. */
export function month(text: string) {
  const range = monthRange(text);
  if (range === undefined) throw new InvalidArgumentError('It must be a month such as 2026-03.');
  return range;
}
