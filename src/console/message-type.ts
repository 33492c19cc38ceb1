import { z } from 'zod';
import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';

const DELIVERED_TYPES = [...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE] as const;

/** What a delivery can be of: a message type, or `UNKNOWN` where it could not be read. */
export const deliveredType = z.enum(DELIVERED_TYPES, 'takes one of the message types, or UNKNOWN');

/** The types as a choice that has "all", too. */
export const TYPE_OPTIONS = [
  ['', 'all types'],
  ...DELIVERED_TYPES.map((type) => [type, type] as const),
] as const;
