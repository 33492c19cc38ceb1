import { z } from 'zod';
import { isHtmlPage } from '../lib/text/html-page.ts';
import { CloudApiError, HTML_ADVICE } from './cloud-api-error.ts';
import type { Answer } from './exchange.ts';
import { shapeOf } from './shape.ts';

const INTEGER = /^-?\d+$/;

/**
 * Reads JSON without rounding identifiers: an integer beyond 2^53 becomes a string of its exact digits. All other values
 * are read as usual, also numbers such as `50.0`, which src/events/exact-json.ts would keep as text. Throws a SyntaxError, whose
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

export function jsonOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Reads the body of a successful answer. Throws `CloudApiError` if it is not JSON or does not match the schema. */
export function readJson<Schema extends z.ZodType>(schema: Schema, answer: Answer): z.output<Schema> {
  const body = readBody(answer);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw unexpectedBody(answer, body, expectationOf(parsed.error));
}

/** The JSON value of an answer. Throws `CloudApiError` if it is not JSON. */
export function readBody({ method, path, status, headers, text }: Answer): unknown {
  try {
    return parseJson(text);
  } catch {
    // The SyntaxError is not the cause on purpose: it quotes the body, which may contain a token.
    const isHtml = isHtmlPage(headers.get('content-type'), text);
    const what = isHtml ? HTML_ADVICE : `a body that is not JSON (${text.length} characters)`;
    const message = `${method} ${path} answered ${status} with ${what}${isHtml ? '' : '.'}`;
    throw new CloudApiError(message, { method, path, status, isHtml });
  }
}

/**
 * The error for a body of no documented form, in one line: the call, the shape of the body (without its values, which may
 * be secrets), and the expectation. The ZodError is not its cause: logs would print all its lines.
 */
export function unexpectedBody({ method, path, status }: Answer, body: unknown, expected: string) {
  const message = `${method} ${path} answered ${status} with an unexpected body: received ${shapeOf(body)}; expected ${expected}.`;
  return new CloudApiError(message, { method, path, status });
}

/** The first wrong member: its expected type and its place. If several forms are possible, the first is named. */
export function expectationOf({ issues }: z.ZodError): string {
  const path: PropertyKey[] = [];
  let issue: z.core.$ZodIssue | undefined = issues[0];
  while (issue?.code === 'invalid_union') {
    path.push(...issue.path);
    issue = issue.errors.at(0)?.at(0);
  }
  path.push(...(issue?.path ?? []));
  const expected = issue?.message.replace('Invalid input: expected ', '') ?? 'another form';
  return path.length === 0 ? expected : `${expected} at ${z.core.toDotPath(path)}`;
}
