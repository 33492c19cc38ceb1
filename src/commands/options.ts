import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { MESSAGE_TYPES } from '../domain.ts';
import { parsePosition } from '../event-position.ts';
import { parseMacAddress } from '../mac-address.ts';
import { parseTime } from '../parse-time.ts';

/** One source only. */
export function sourceOption() {
  return new Option('--source <name>', 'only this source');
}

/** One message type only. */
export function typeOption() {
  return new Option('--type <type>', 'message type').choices(MESSAGE_TYPES);
}

/** Some message types only. */
export function typesOption() {
  return new Option('--type <types...>', 'one of these message types').choices(MESSAGE_TYPES);
}

/** The examples below a help text. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

/** A whole number, as its text: an id may have more digits than a number keeps. */
export function wholeNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.');
  return text;
}

/** A MAC address in any notation. */
export function macAddress(text: string): string {
  const parsed = parseMacAddress(text);
  if (parsed === undefined) throw new InvalidArgumentError('It takes 12 hexadecimal digits.');
  return parsed;
}

/** A time, or how long ago. */
export function time(text: string): Date {
  const parsed = parseTime(text, new Date());
  if (parsed === undefined)
    throw new InvalidArgumentError('It takes a time such as 2026-01-31T08:00Z, or 12h ago as 12h.');
  return parsed;
}

/** The same, or now. */
export function timeOrNow(text: string): Date | 'now' {
  return text === 'now' ? text : time(text);
}

/** What a page of events ended with. */
export function position(text: string) {
  const parsed = parsePosition(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It takes what an earlier page printed behind --after.');
  return parsed;
}
