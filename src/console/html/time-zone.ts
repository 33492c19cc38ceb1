import { parseCookie } from 'cookie';
import type { Request } from 'express';
import type { VNode } from 'preact';
import { isTimeZone, parseTime } from '../../lib/text/parse-time.ts';
import { exactText } from '../browser/shared/local-time.ts';
import { Zone } from '../browser/shared/zone.ts';
import { html, type Content } from './html.ts';

/** The cookie with the IANA name of the time zone that a reader chose; time-zone.ts writes it. */
const ZONE_COOKIE = 'xiq_time_zone';

/** The time zone of a reader: UTC until the browser has named another one that exists. */
export function zoneOf({ headers }: Request): string {
  const zone = parseCookie(headers.cookie ?? '')[ZONE_COOKIE];
  return zone !== undefined && isTimeZone(zone) ? zone : 'UTC';
}

export const withZone = (zone: string, content: VNode): VNode =>
  html`<${Zone.Provider} value=${zone}>${content}<//>`;

/** Content that depends on the time zone of the reader. */
export const inZone = (content: (zone: string) => Content): VNode => html`<${Zone.Consumer}>${content}<//>`;

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

const IS_LOCAL = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?$/;
