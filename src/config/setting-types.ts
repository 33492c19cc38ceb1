import { z } from 'zod';
import { MESSAGE_TYPES } from '../domain.ts';

/** A secret shorter than this can be guessed by trying. */
const MIN_SECRET_LENGTH = 16;

/** A whole number in a text. */
export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `takes a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `takes a whole number from ${min} to ${max}`);

/** A URL of one of these protocols, each with its colon. */
export const urlOf = (...protocols: string[]) =>
  z
    .string()
    .refine(
      (text) => protocols.includes(URL.parse(text)?.protocol ?? ''),
      `takes a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );

/** An http(s) address that paths are appended to: host and perhaps a path prefix, read without its last slash. */
export const baseUrl = z
  .string()
  .refine(isBaseUrl, 'takes an address such as https://host/prefix, without user name, query or fragment')
  .transform((text) => new URL(text).href.replace(/\/+$/, ''));

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === url.origin + url.pathname;
}

/** A secret that deliveries carry. */
export const webhookSecret = z
  .string()
  .min(
    MIN_SECRET_LENGTH,
    `takes secrets of at least ${MIN_SECRET_LENGTH} characters (try: openssl rand -hex 32)`,
  )
  .regex(/^[\u0021-\u007e]+$/, 'takes secrets of printable ASCII characters without spaces');

/** A bearer token: what an HTTP header can carry. */
export const bearerToken = z
  .string()
  .regex(/^[\u0021-\u007e]+$/, 'takes a token of printable ASCII characters without spaces');

/** Message types, each once. */
export const messageTypes = z
  .array(z.enum(MESSAGE_TYPES, `takes message types out of ${MESSAGE_TYPES.join(', ')}`))
  .min(1, 'takes at least one message type')
  .transform((types) => [...new Set(types)]);

/** The parts of a comma separated text, without the spaces around them. */
export const commaSeparated = z.string().transform((text) => text.split(',').map((part) => part.trim()));
