import { z } from 'zod';
import { EndpointRefusedError } from '../sender.ts';
import { failureOf, isGood, readJsonAnswer } from './http-answer.ts';
import type { HttpEndpoint } from './http-endpoint.ts';

/** Access tokens of an application that logs in as itself (OAuth 2.0 client credentials). */
export interface AccessTokens {
  /** Returns a token that is valid now. Throws EndpointRefusedError if the login is refused. */
  current(): Promise<string>;
  /** Discards the token after it was not accepted. */
  drop(): void;
}

interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
}

/** A token is renewed this long before it expires, or a tenth of its lifetime if that is shorter. */
const MAX_RENEWAL_MARGIN_MS = 5 * 60 * 1000;

const LoginAnswer = z.object({
  access_token: z.string().regex(/^[\u0021-\u007e]+$/, 'must be a token'),
  expires_in: z.coerce.number(),
});

/** Logs in at a path of the login endpoint and adds each token to the endpoint's secrets. */
export function createAccessTokens(
  login: HttpEndpoint,
  path: string,
  { clientId, clientSecret, scope }: ClientCredentials,
): AccessTokens {
  let held: { token: string; renewAt: number } | undefined;

  return {
    async current() {
      const now = Date.now();
      if (held !== undefined && now < held.renewAt) return held.token;
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope,
      });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await login.post(path, headers, form.toString());
      if (!isGood(answer)) throw loginFailure(failureOf(answer, login), answer.status);
      const { access_token: token, expires_in: seconds } = readJsonAnswer(LoginAnswer, answer, login);
      login.secrets.add(token);
      held = { token, renewAt: now + seconds * 1000 - Math.min(MAX_RENEWAL_MARGIN_MS, seconds * 100) };
      return token;
    },
    drop() {
      held = undefined;
    },
  };
}

/** A wrong client, secret or tenant gives 400 or 401: the events are not the cause. */
function loginFailure(failure: Error, status: number): Error {
  return status === 400 ? new EndpointRefusedError(failure.message) : failure;
}
