import { z } from 'zod';
import { addressOf } from '../../console/addresses.ts';
import { ASSISTANT_HEADER } from '../../console/api/record-question.ts';
import type { Api } from '../../console/assistant/tools.ts';

const PATIENCE_MS = 60_000;

const ErrorAnswer = z.object({ error_message: z.string() });

/**
 * The API of a console, as this token may see it. A question rejects with an Error that says why there is no answer: the
 * console cannot be reached, or refuses the question.
 */
export function createApi(origin: string, token: string | undefined): Api {
  const headers = {
    [ASSISTANT_HEADER]: 'true',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return async (route, query, parts = {}) => {
    const path = route
      .replace('GET ', '')
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name] ?? ''));
    const url = `${origin}${addressOf(`/api/v1${path}`, query)}`;
    let response: Response;
    let body: unknown;
    try {
      response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) });
      body = await response.json();
    } catch (cause) {
      throw new Error(`cannot reach the API at ${origin} (see --url)`, { cause });
    }
    if (response.ok) return body;
    const reason = ErrorAnswer.safeParse(body).data?.error_message ?? 'no reason given';
    throw new Error(`the API at ${origin} answered ${response.status}: ${reason}`);
  };
}
