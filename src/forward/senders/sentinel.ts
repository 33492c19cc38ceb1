import { z } from 'zod';
import { baseUrl } from '../../config/setting-types.ts';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { type Sender, EndpointRefusedError } from '../sender.ts';
import { describeAnswer, failureOf, isGood, isHtml, readJsonAnswer } from './http-answer.ts';
import { createHttpEndpoint, divideBySize, httpOptions, type HttpEndpoint } from './http-endpoint.ts';

const pathSegment = z.string().regex(/^[\w.-]+$/, 'must consist of letters, digits, "_", "-" and "."');

const httpsBaseUrl = baseUrl.refine(
  (url) => url.startsWith('https:'),
  'must be an address that begins with https://',
);

/** Microsoft Sentinel through the Logs Ingestion API of Azure Monitor. */
export const sentinelOptions = z.strictObject({
  ...httpOptions,
  /** The data collection endpoint, such as `https://NAME.REGION-1.ingest.monitor.azure.com`. */
  endpoint: httpsBaseUrl,
  /** The immutable id of the data collection rule, `dcr-` and 32 digits. */
  rule_id: pathSegment,
  /** The stream that the rule declares, such as `Custom-XiqEvents`. */
  stream: pathSegment,
  tenant_id: pathSegment,
  client_id: z.string().min(1, 'must be the id of an application'),
  client_secret: z.string().min(1, 'must be the secret of an application'),
  /** National clouds use other addresses. */
  login_url: httpsBaseUrl.default('https://login.microsoftonline.com'),
  scope: z.string().default('https://monitor.azure.com/.default'),
});

type SentinelOptions = z.output<typeof sentinelOptions>;

/** The API accepts 1 MB per call, before compression. */
const MAX_REQUEST_BYTES = 1_000_000;

/** Sends JSON arrays of up to 1 MB with the token of an application that is allowed to publish to the rule. */
export function createSentinelSender(options: SentinelOptions): Sender {
  const secrets = createSecrets([options.client_secret]);
  const common = { type: 'sentinel', secrets, http: options };
  const ingestion = createHttpEndpoint({ ...common, url: options.endpoint });
  const login = createHttpEndpoint({ ...common, url: options.login_url });
  const tokens = createAccessTokens(login, options);
  const path = `/dataCollectionRules/${options.rule_id}/streams/${options.stream}?api-version=2023-01-01`;

  async function post(body: string) {
    const authorization = `Bearer ${await tokens.current()}`;
    return await ingestion.post(path, { 'content-type': 'application/json', authorization }, body);
  }

  async function sendRequest(texts: readonly string[]): Promise<void> {
    const body = `[${texts.join(',')}]`;
    let answer = await post(body);
    if (answer.status === 401) {
      // The token may have been revoked before it expired: try once more with a new one.
      tokens.drop();
      answer = await post(body);
    }
    if (!isGood(answer)) throw failureOf(answer, ingestion);
    if (isHtml(answer))
      throw new OutageError(`an HTML page is no receipt: ${describeAnswer(answer, ingestion)}`);
  }

  return {
    async send(batch) {
      const texts = batch.map(({ text }) => text);
      // Minus the two brackets.
      for (const request of divideBySize(texts, MAX_REQUEST_BYTES - 2)) await sendRequest(request);
      return [];
    },
    close: async () => void (await Promise.all([ingestion.close(), login.close()])),
  };
}

/** A token is renewed this long before it expires, or a tenth of its lifetime if that is shorter. */
const MAX_RENEWAL_MARGIN_MS = 5 * 60 * 1000;

const LoginAnswer = z.object({
  access_token: z.string().regex(/^[\u0021-\u007e]+$/, 'must be a token'),
  expires_in: z.coerce.number(),
});

/** Logs in at a path of the login endpoint and adds each token to the endpoint's secrets. */
function createAccessTokens(
  login: HttpEndpoint,
  { tenant_id, client_id, client_secret, scope }: SentinelOptions,
) {
  let held: { token: string; renewAt: number } | undefined;

  return {
    /** Returns a token that is valid now. Throws EndpointRefusedError if the login is refused. */
    async current(): Promise<string> {
      const now = Date.now();
      if (held !== undefined && now < held.renewAt) return held.token;
      const grant = { grant_type: 'client_credentials', client_id, client_secret, scope };
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const path = `/${tenant_id}/oauth2/v2.0/token`;
      const answer = await login.post(path, headers, new URLSearchParams(grant).toString());
      if (!isGood(answer)) throw loginFailure(failureOf(answer, login), answer.status);
      const { access_token: token, expires_in: seconds } = readJsonAnswer(LoginAnswer, answer, login);
      login.secrets.add(token);
      held = { token, renewAt: now + seconds * 1000 - Math.min(MAX_RENEWAL_MARGIN_MS, seconds * 100) };
      return token;
    },
    /** Discards the token after it was not accepted. */
    drop(): void {
      held = undefined;
    },
  };
}

/** A wrong client, secret or tenant gives 400 or 401: the events are not the cause. */
function loginFailure(failure: Error, status: number): Error {
  return status === 400 ? new EndpointRefusedError(failure.message) : failure;
}
