import { OutageError } from '../../errors.ts';
import { readRetryAfter } from '../../retry-after.ts';
import { BatchRefusedError, EndpointRefusedError, RetryLaterError } from '../sender.ts';
import type { Answer, HttpEndpoint } from './http-endpoint.ts';

/** So much of an answer's body stands in an error. */
const MAX_QUOTED = 300;

export const isGood = ({ status }: Answer) => status >= 200 && status <= 299;

/**
 * What an answer that is not of the 200s means for the batch. The error quotes the beginning of the answer, without
 * the endpoint's secrets.
 */
export function failureOf(answer: Answer, { name, secrets }: HttpEndpoint): Error {
  const { status, headers } = answer;
  const quoted = secrets.hide(answer.text.replaceAll(/\s+/g, ' ').trim()).slice(0, MAX_QUOTED);
  const said = `${name} answered ${status}${quoted === '' ? '' : `: ${quoted}`}`;

  if (status === 400 || status === 413 || status === 422) return new BatchRefusedError(said);
  if (status === 429 || status === 503) {
    const afterMs = readRetryAfter(headers['retry-after'], Date.now());
    return afterMs === undefined ? new OutageError(said) : new RetryLaterError(said, afterMs);
  }
  // 408 and 425 ask for the same request again.
  if (status >= 500 || status === 408 || status === 425) return new OutageError(said);
  if (status >= 300 && status <= 399) {
    const to = hostOf(headers.location);
    return new EndpointRefusedError(
      `${name} answered ${status}, a redirect${to}; redirects are not followed: set the address that it leads to`,
    );
  }
  return new EndpointRefusedError(said);
}

/** Path and query of a redirect are left out: they may repeat a secret. */
function hostOf(location: string | undefined): string {
  const host = URL.parse(location ?? '')?.host ?? '';
  return host === '' ? '' : ` to ${host}`;
}
