import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { baseUrl, bearerToken } from '../../config/setting-types.ts';
import { OutageError } from '../../errors.ts';
import { createSecrets } from '../../secrets.ts';
import { EndpointRefusedError } from '../sender.ts';
import type { Message, Refusal, Sender } from '../sender.ts';
import { createHttpEndpoint, httpOptions } from './http-endpoint.ts';
import { failureOf, isGood } from './http-failure.ts';
import { readJsonAnswer } from './json-answer.ts';

/** Elasticsearch and OpenSearch: a data stream or an index. */
export const elasticsearchOptions = z
  .strictObject({
    ...httpOptions,
    url: baseUrl,
    /** A data stream takes only documents with `@timestamp`, which the format `ecs` has. */
    index: z
      .string()
      .regex(/^[^A-Z\\/*?"<>|,#:\s_+-][^A-Z\\/*?"<>|,#:\s]*$/, 'takes the name of an index or data stream')
      .default('logs-xiq.events-default'),
    /** The base64 form, as Kibana shows it. */
    api_key: bearerToken.optional(),
    username: z.string().optional(),
    password: z.string().optional(),
  })
  .refine(
    ({ api_key, username, password }) =>
      (username === undefined) === (password === undefined) &&
      (api_key === undefined || username === undefined),
    'takes api_key, or username and password, or none',
  );

export type ElasticsearchOptions = z.output<typeof elasticsearchOptions>;

export const ELASTICSEARCH_FORMATS = ['ecs', 'json', 'ocsf'] as const;

/** Waits before the items that met an overloaded shard are sent again; then the batch waits as a whole. */
const ITEM_RETRY_WAITS_MS = [100, 300, 1_000];

/** Only what is read of an item: a tenth of the full answer. */
const BULK_PATH = '/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason';

const ItemResult = z.object({
  status: z.number(),
  error: z.object({ type: z.string().default(''), reason: z.string().nullish() }).optional(),
});

type ItemResult = z.output<typeof ItemResult>;

const BulkAnswer = z.object({
  items: z.array(z.object({ create: ItemResult }).transform(({ create }) => create)),
});

/** A message with its place in the batch. */
interface Item {
  readonly index: number;
  readonly message: Message;
}

/**
 * Creates a document for each event under the event's id, so that one sent twice is there once (in a data stream: as
 * long as its backing index is not rolled over). Each item's own answer counts.
 */
export function createElasticsearchSender(options: ElasticsearchOptions): Sender {
  const secrets = createSecrets();
  for (const secret of [options.api_key, options.password, basic(options)]) {
    if (secret !== undefined) secrets.add(secret);
  }
  const endpoint = createHttpEndpoint({ type: 'elasticsearch', url: options.url, secrets, http: options });
  const headers = { 'content-type': 'application/x-ndjson', ...authorization(options) };

  async function sendBulk(items: readonly Item[]): Promise<ItemResult[]> {
    const body = items.map(({ message }) => bulkLines(message, options.index)).join('');
    const answer = await endpoint.post(BULK_PATH, headers, body);
    if (!isGood(answer)) throw failureOf(answer, endpoint);
    const results = readJsonAnswer(BulkAnswer, answer, endpoint).items;
    if (results.length === items.length) return results;
    throw new OutageError(`${endpoint.name} answered for ${results.length} of ${items.length} items`);
  }

  /** Sends the items, notes those that are refused, and gives those that have to be sent again. */
  async function attempt(items: readonly Item[], refusals: Refusal[]): Promise<Item[]> {
    const results = await sendBulk(items);
    return items.filter(({ index }, at) => {
      const result = results[at];
      if (result === undefined || isThere(result)) return false;
      if (result.status === 429 || result.status >= 500) return true;
      if (isAboutIndex(result)) {
        throw new EndpointRefusedError(`${endpoint.name} does not let us write: ${reasonOf(result)}`);
      }
      refusals.push({ index, reason: reasonOf(result) });
      return false;
    });
  }

  return {
    async send(batch) {
      const refusals: Refusal[] = [];
      let items = batch.map((message, index) => ({ index, message }));
      for (const waitMs of [0, ...ITEM_RETRY_WAITS_MS]) {
        if (waitMs > 0) await sleep(waitMs);
        items = await attempt(items, refusals);
        if (items.length === 0) return refusals.toSorted((a, b) => a.index - b.index);
      }
      throw new OutageError(`${endpoint.name} is too busy for ${items.length} of ${batch.length} events`);
    },
    close: () => Promise.resolve(endpoint.close()),
  };
}

/** 409: an earlier attempt has created it. */
const isThere = ({ status }: ItemResult) => (status >= 200 && status <= 299) || status === 409;

/** No event is to blame when the index is missing, closed to us, or read-only. */
const isAboutIndex = ({ status, error }: ItemResult) =>
  status === 401 || status === 403 || error?.type === 'index_not_found_exception';

const reasonOf = ({ status, error }: ItemResult) =>
  `${status} ${error?.type ?? ''}: ${error?.reason ?? 'no reason given'}`;

function bulkLines({ event, text }: Message, index: string): string {
  return `${JSON.stringify({ create: { _index: index, _id: event.eventId } })}\n${text}\n`;
}

function authorization(options: ElasticsearchOptions): Record<string, string> {
  if (options.api_key !== undefined) return { authorization: `ApiKey ${options.api_key}` };
  const userAndPassword = basic(options);
  return userAndPassword === undefined ? {} : { authorization: `Basic ${userAndPassword}` };
}

function basic({ username, password }: ElasticsearchOptions): string | undefined {
  return username === undefined ? undefined : Buffer.from(`${username}:${password}`).toString('base64');
}
