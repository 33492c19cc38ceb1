import { z } from 'zod';
import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../events/domain.ts';
import { formatPosition, parsePosition } from '../../events/event-position.ts';
import { parseMacAddress } from '../../events/mac-address.ts';
import { exactTerms, parseSearch, printSearch } from '../../events/search-query.ts';
import type { Db } from '../../store/server/database.ts';
import { searchEvents, type Search } from '../../store/events/search-events.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import { withNames } from '../../store/reconcile/inventory.ts';
import type { Scope } from '../../store/server/scope.ts';
import type { Query } from '../addresses.ts';
import { moment, parsedText, shortText, several } from '../api/parameters.ts';
import { cursorParameter, pageOf } from '../api/paging.ts';

export const DELIVERED_TYPES = [...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE] as const;

/** The type of a delivery: a message type, or `UNKNOWN` if it could not be recognized. */
export const deliveredType = z.enum(DELIVERED_TYPES, 'must be a message type, or UNKNOWN');

const MAX_TEXT = 500;

const text = (description: string) => shortText(MAX_TEXT).describe(description);

const searchLine = text('search such as user:dina* -type:location "any text" (docs/searching.md)').transform(
  (value, context) => {
    const { terms, problem } = parseSearch(value);
    if (terms !== undefined) return terms;
    context.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  },
);

const isInt64 = (value: bigint) => BigInt.asIntN(64, value) === value;

const id = (description: string) =>
  z
    .string({ error: 'can be given only once' })
    .trim()
    .refine((value) => /^-?\d{1,19}$/.test(value) && isInt64(BigInt(value)), 'must be a whole number')
    .describe(description);

export const mac = (description: string) =>
  parsedText(
    parseMacAddress,
    'must have 12 hexadecimal digits, such as aa:bb:cc:dd:ee:ff or AABBCCDDEEFF',
  ).describe(description);

export const userName = text('user name (case is ignored)');

export const rangeShape = {
  since: moment.optional().describe('start of the range: ISO 8601 or relative (24h)'),
  until: moment.optional().describe('end of the range, exclusive: ISO 8601 or relative (1h)'),
};

export const typeShape = {
  type: several(z.enum(MESSAGE_TYPES, 'must be a message type'))
    .optional()
    .describe('message type; can be repeated'),
};

/** The conditions of a search as query parameters, with the same names in pages and API. */
export const conditionShape = {
  ...rangeShape,
  ...typeShape,
  q: searchLine.optional(),
  user: userName.optional(),
  code: id('event code of the audit record').optional(),
  org: id('organization id').optional(),
  mac: mac('MAC address of a client or an access point, in any notation').optional(),
  ap: mac('MAC address of an access point, in any notation').optional(),
  device: text(
    'serial number, host name or id of a device, or the source of an alert (exact match)',
  ).optional(),
  text: text('any part of the record, ignoring case').optional(),
};

/** An object with these members, in which a range ends after its start. */
export function withValidRange<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape>;
export function withValidRange(shape: z.ZodRawShape): z.ZodObject {
  return z
    .object(shape)
    .refine(({ since, until }) => !(since instanceof Date && until instanceof Date) || since < until, {
      path: ['until'],
      error: 'must be later than since',
    });
}

export const conditions = withValidRange(conditionShape);

/** Conditions on events, of the source that the address names, if it names one. */
export type Conditions = z.output<typeof conditions> & { readonly source?: string | undefined };

/** All conditions but the range as terms. */
export const termsOfConditions = ({ q = [], since: _since, until: _until, ...fields }: Conditions) => [
  ...q,
  ...exactTerms(fields),
];

/** The conditions as the store's filter. */
export const filterOf = (given: Conditions): EventFilter => ({
  since: given.since,
  until: given.until,
  terms: termsOfConditions(given),
});

/** Conditions as query parameters that stay valid: absolute times, normalized addresses. */
export const queryOfConditions = ({ since, until, q, ...others }: Conditions): Query => ({
  q: q && printSearch(q),
  since: since?.toISOString(),
  until: until?.toISOString(),
  ...others,
});

export const eventOrder = z
  .enum(['newest', 'oldest'], 'must be newest or oldest')
  .default('newest')
  .describe('newest or oldest events first');

export const cursor = cursorParameter(parsePosition);

/** How long a page is searched for that says how far it got. */
export const SEARCH_MS = 2_000;

/**
 * Reads one page of the matching events with the names of their time, by default newest first. `searched_to` is the time where
 * the page ends, and the next one goes on, if it did not find enough in its time.
 */
export async function readEvents(db: Db, scope: Scope, filter: EventFilter, { limit, ...page }: Search) {
  const { events, next } = await searchEvents(db, scope, filter, { limit: limit + 1, ...page });
  const read = pageOf(events, limit, formatPosition);
  const items = [...(await withNames(db, scope, read.items))];
  const goesOn = read.next_cursor === null ? next : undefined;
  return {
    items,
    next_cursor: goesOn === undefined ? read.next_cursor : formatPosition(goesOn),
    searched_to: goesOn?.occurredAt ?? null,
  };
}
