import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { readRetryAfter } from '../../lib/retry-after.ts';
import { isHtmlPage } from '../../lib/text/html-page.ts';
import { BatchRefusedError, EndpointRefusedError, RetryLaterError } from '../sender.ts';
import type { Answer, HttpEndpoint } from './http-endpoint.ts';

/** How much of an answer's body an error quotes, in characters. */
const MAX_QUOTED = 300;

export const isGood = ({ status }: Answer) => status >= 200 && status <= 299;

/** The login page of a proxy: its status may be 200, too, but it is no receipt. */
export const isHtml = ({ headers, text }: Answer) => isHtmlPage(headers['content-type'], text);

/** A line that names the endpoint and quotes the beginning of its answer, without the endpoint's secrets. */
export function describeAnswer({ status, text }: Answer, { name, secrets }: HttpEndpoint): string {
  const quoted = secrets.hide(text.replaceAll(/\s+/g, ' ').trim()).slice(0, MAX_QUOTED);
  return `${name} answered ${status}${quoted === '' ? '' : `: ${quoted}`}`;
}

/** Returns the error that an answer outside the 200s means for the batch. */
export function failureOf(answer: Answer, endpoint: HttpEndpoint): Error {
  const { status, headers } = answer;
  const { name } = endpoint;
  const message = describeAnswer(answer, endpoint);

  if (status === 400 || status === 413 || status === 422) return new BatchRefusedError(message);
  if (status === 429 || status === 503) {
    const afterMs = readRetryAfter(headers['retry-after'], Date.now());
    return afterMs === undefined ? new OutageError(message) : new RetryLaterError(message, afterMs);
  }
  // 408 and 425 ask for the same request to be repeated.
  if (status >= 500 || status === 408 || status === 425) return new OutageError(message);
  if (status >= 300 && status <= 399) {
    const to = hostOf(headers.location);
    return new EndpointRefusedError(
      `${name} answered ${status}, a redirect${to}. Redirects are not followed: set the target's address`,
    );
  }
  return new EndpointRefusedError(message);
}

/** Omits path and query of a redirect, which may repeat a secret. */
function hostOf(location: string | undefined): string {
  const host = URL.parse(location ?? '')?.host ?? '';
  return host === '' ? '' : ` to ${host}`;
}

/** Reads the body of a successful answer. Throws OutageError if it does not match the schema. */
export function readJsonAnswer<Schema extends z.ZodType>(
  schema: Schema,
  answer: Answer,
  endpoint: HttpEndpoint,
): z.output<Schema> {
  const parsed = schema.safeParse(jsonOrNothing(answer.text));
  if (parsed.success) return parsed.data;
  const problems = z.prettifyError(parsed.error);
  throw new OutageError(
    `unexpected answer for this type of destination (${problems}): ${describeAnswer(answer, endpoint)}`,
  );
}

export function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
