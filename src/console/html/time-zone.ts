import { parseCookie } from 'cookie';
import type { Request } from 'express';
import type { VNode } from 'preact';
import { isTimeZone, parseTime } from '../../parse-time.ts';
import { exactText, localText, zoneWord } from '../browser/local-time.js';
import { Zone } from '../browser/zone.js';
import { html, type Content } from './html.ts';

/** The cookie with the IANA name of the time zone that a reader chose; time-zone.js writes it. */
const ZONE_COOKIE = 'xiq_time_zone';

/** The time zone of a reader: UTC until the browser has named another one that exists. */
export function zoneOf({ headers }: Request): string {
  const zone = parseCookie(headers.cookie ?? '')[ZONE_COOKIE];
  return zone !== undefined && isTimeZone(zone) ? zone : 'UTC';
}

/** Renders everything in `content` with this time zone. */
export const withZone = (zone: string, content: VNode): VNode =>
  html`<${Zone.Provider} value=${zone}>${content}<//>`;

/** Content that depends on the time zone of the reader. */
export const inZone = (content: (zone: string) => Content): VNode => html`<${Zone.Consumer}>${content}<//>`;

/** The name of a fact that is a time: the name, and the time zone. */
export const timeHeading = (name: string): VNode => inZone((zone) => `${name} (${zoneWord(zone)})`);

/** A sentence with its instants in ISO 8601 as times of the reader. */
export const withTimes = (text: string): Content =>
  text.split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/).map((part, index) => (index % 2 === 0 ? part : timeOf(part)));

/** The name of the time zone, to put after times. */
export const zoneName = (): VNode => inZone((zone) => zone);

/** A time in the time zone of the reader, to the second. */
export const timeOf = (time: Date | string): VNode => elementOf(time, localText);

/** A time in the time zone of the reader, to the millisecond. */
export const exactTimeOf = (time: Date | string): VNode => elementOf(time, exactText);

const elementOf = (time: Date | string, textOf: typeof localText): VNode =>
  inZone((zone) => html`<time datetime=${new Date(time).toISOString()}>${textOf(time, zone)}</time>`);

/** The time of day in the time zone of the reader: 08:00:00. */
export const clockOf = (time: Date | string): VNode =>
  inZone(
    (zone) => html`<time datetime=${new Date(time).toISOString()}>${localText(time, zone).slice(11)}</time>`,
  );

/**
 * What a field shows of the instant in an address: the local time as short as it can be written, with an offset where
 * clocks show it twice. Text that is no instant stays as it is.
 */
export function writtenIn(zone: string, text: string): string {
  const instant = /^\d{4}-.*Z$/.test(text) ? parseTime(text, new Date()) : undefined;
  if (instant === undefined) return text;
  const local = exactText(instant, zone)
    .replace(/\.000$/, '')
    .replace(/:00$/, '');
  return parseTime(local, new Date(), zone)?.getTime() === instant.getTime() ? local : text;
}

/** The parameters of a page that are times. */
const TIMES = ['since', 'until'];

/**
 * The address of a page with its local times as instants, so that a link means the same for every reader; undefined if
 * it has none.
 */
export function absoluteAddress(url: string, zone: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const instants = TIMES.flatMap((name) => {
    const text = searchParams.get(name)?.trim() ?? '';
    const instant = IS_LOCAL.test(text) ? parseTime(text, new Date(), zone) : undefined;
    return instant === undefined ? [] : [[name, instant.toISOString()] as const];
  });
  for (const [name, instant] of instants) searchParams.set(name, instant);
  return instants.length === 0 ? undefined : `${pathname}?${searchParams}`;
}

/** A date, or a date and time without an offset. */
const IS_LOCAL = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?$/;
