import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { commandName } from '../../command-name.ts';
import { MESSAGE_TYPES } from '../../domain.ts';
import { parsePosition } from '../../event-position.ts';
import { parseMacAddress } from '../../mac-address.ts';
import { parseTime } from '../../parse-time.ts';

/** The forms of a time, as help texts list them. */
export const TIME_FORMS = '2026-01-31, 2026-01-31T08:00Z, or 90m, 12h, 7d ago';

/** `--source`, for commands that work on all sources without it. */
export function sourceOption() {
  return new Option('--source <name>', 'only this source');
}

/** `--type`, one message type. */
export function typeOption() {
  return new Option('--type <type>', 'message type').choices(MESSAGE_TYPES);
}

/** `--type`, one or more message types. */
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

/** Parses a whole number. It stays text, because an id can have more digits than a number keeps. */
export function wholeNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return text;
}

/** Parses a MAC address in any notation. */
export function macAddress(text: string): string {
  const parsed = parseMacAddress(text);
  if (parsed === undefined) throw new InvalidArgumentError('It must have 12 hexadecimal digits.');
  return parsed;
}

/** Parses a point in time, or a duration before now. */
export function time(text: string): Date {
  const parsed = parseTime(text, new Date());
  if (parsed === undefined)
    throw new InvalidArgumentError('It must be a time such as 2026-01-31T08:00Z, or a duration such as 12h.');
  return parsed;
}

/** Parses a time, or `now`. */
export function timeOrNow(text: string): Date | 'now' {
  return text === 'now' ? text : time(text);
}

/** Parses the position that a page of events ended with. */
export function position(text: string) {
  const parsed = parsePosition(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It must be a position that an earlier page printed after --after.');
  return parsed;
}
