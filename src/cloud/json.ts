import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import type { Answer } from './exchange.ts';

const INTEGER = /^-?\d+$/;

/**
 * Reads JSON without rounding identifiers: an integer beyond 2^53 becomes a string of its exact digits. All other values
 * are read as usual, also numbers such as `50.0`, which src/exact-json.ts would keep as text. Throws a SyntaxError, whose
 * message may quote the text.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text, keepDigits);
  return value;
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  const digits = context?.source;
  return digits !== undefined && INTEGER.test(digits) ? digits : value;
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function jsonOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads the body of a successful answer. Throws `CloudApiError` if it is not JSON or does not match the schema. The message
 * names the wrong members, never their values.
 */
export function readJson<Schema extends z.ZodType>(schema: Schema, answer: Answer): z.output<Schema> {
  const parsed = schema.safeParse(bodyOf(answer));
  if (parsed.success) return parsed.data;
  const { method, path, status } = answer;
  const message = `${method} ${path} answered ${status} with an unexpected body: ${z.prettifyError(parsed.error)}`;
  throw new CloudApiError(message, { method, path, status, cause: parsed.error });
}

function bodyOf({ method, path, status, text }: Answer): unknown {
  try {
    return parseJson(text);
  } catch {
    // The SyntaxError is not the cause on purpose: it quotes the body, which may contain a token.
    throw new CloudApiError(`${method} ${path} answered ${status} with a body that is not JSON`, {
      method,
      path,
      status,
    });
  }
}
