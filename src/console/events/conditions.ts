import { z } from 'zod';
import { MESSAGE_TYPES } from '../../domain.ts';
import { parseMacAddress } from '../../mac-address.ts';
import type { EventFilter } from '../../store/event-filter.ts';
import type { Query } from '../addresses.ts';
import { moment } from '../api/moment.ts';
import { several } from '../api/query.ts';

const MAX_TEXT = 500;

const text = (description: string) =>
  z
    .string({ error: 'can be given once' })
    .max(MAX_TEXT, `takes ${MAX_TEXT} characters at most`)
    // Postgres keeps no such character in text.
    .refine((value) => !value.includes('\0'), 'takes no character U+0000')
    .meta({ description });

const isInt64 = (value: bigint) => BigInt.asIntN(64, value) === value;

const id = (description: string) =>
  z
    .string({ error: 'can be given once' })
    .trim()
    .refine((value) => /^-?\d{1,19}$/.test(value) && isInt64(BigInt(value)), 'takes a whole number')
    .meta({ description });

/** A MAC address in any notation. */
export const mac = (description: string) =>
  z
    .string({ error: 'can be given once' })
    .transform((value, context) => {
      const parsed = parseMacAddress(value);
      if (parsed !== undefined) return parsed;
      const message = 'takes 12 hexadecimal digits, such as aa:bb:cc:dd:ee:ff or AABBCCDDEEFF';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .meta({ description });

/** A user's name, exactly as events have it. */
export const userName = text('user name, exactly');

/** From when until when, as parameters of a query. */
export const rangeShape = {
  since: moment.optional().meta({ description: 'from this time on: ISO 8601, or how long ago (24h)' }),
  until: moment.optional().meta({ description: 'before this time: ISO 8601, or how long ago (1h)' }),
};

/** Message types, as a parameter of a query. */
export const typeShape = {
  type: several(z.enum(MESSAGE_TYPES, 'takes one of the nine message types'))
    .optional()
    .meta({ description: 'one of these message types; may stand several times' }),
};

/** The conditions of a search, as parameters of a query. Pages and API name them alike. */
export const conditionShape = {
  ...rangeShape,
  ...typeShape,
  user: userName.optional(),
  code: id("the audit record's event code").optional(),
  org: id('organization').optional(),
  mac: mac('MAC address of a client or an access point, in any notation').optional(),
  ap: mac('MAC address of an access point, in any notation').optional(),
  device: text("a device's serial number, host name or id, exactly").optional(),
  source: text('source, exactly').optional(),
  text: text("any part of the record's text, whatever its case").optional(),
};

interface Range {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** Whether a range ends after it begins. */
export const isInOrder = ({ since, until }: Range) =>
  since === undefined || until === undefined || since < until;

/** What is said of a range that does not. */
export const NOT_IN_ORDER = { path: ['until'], error: 'must be later than the beginning' };

/** The conditions of a search. */
export const conditions = z.object(conditionShape).refine(isInOrder, NOT_IN_ORDER);

export type Conditions = z.output<typeof conditions>;

/** What the store looks for. */
export const filterOf = ({ type, org, ap, ...others }: Conditions): EventFilter => ({
  ...others,
  messageTypes: type,
  orgId: org,
  accessPoint: ap,
});

/** Conditions as a query that always means the same: times are absolute, addresses in one notation. */
export const queryOfConditions = ({ since, until, ...others }: Conditions): Query => ({
  since: since?.toISOString(),
  until: until?.toISOString(),
  ...others,
});
