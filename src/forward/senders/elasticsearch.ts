import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { baseUrl, bearerToken } from '../../config/setting-types.ts';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets } from '../../lib/secrets.ts';
import {
  BatchRefusedError,
  EndpointRefusedError,
  type Message,
  type Refusal,
  type Sender,
} from '../sender.ts';
import { failureOf, isGood, readJsonAnswer } from './http-answer.ts';
import { createHttpEndpoint, httpOptions } from './http-endpoint.ts';

export const elasticsearchOptions = z
  .strictObject({
    ...httpOptions,
    url: baseUrl,
    /** A data stream accepts only documents with `@timestamp`, which the format `ecs` has. */
    index: z
      .string()
      .regex(/^[^A-Z\\/*?"<>|,#:\s_+-][^A-Z\\/*?"<>|,#:\s]*$/, 'must be the name of an index or data stream')
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
    'set either api_key, or username and password, or neither',
  );

export type ElasticsearchOptions = z.output<typeof elasticsearchOptions>;

/** Waits before items that an overloaded shard refused are sent again. After the last one the whole batch waits. */
const ITEM_RETRY_WAITS_MS = [100, 300, 1_000];

/** Limits the response to the members that are read: a tenth of its full size. */
const BULK_PATH = '/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason';

const ItemResult = z.object({
  status: z.number(),
  error: z.object({ type: z.string().default(''), reason: z.string().nullish() }).optional(),
});

type ItemResult = z.output<typeof ItemResult>;

const BulkAnswer = z.object({
  items: z.array(z.object({ create: ItemResult }).transform(({ create }) => create)),
});

interface Item {
  readonly index: number;
  readonly message: Message;
}

/**
 * Creates a document for each event under the event's id, so an event that is sent twice is stored once (in a data
 * stream: until its backing index is rolled over). The result of each item counts separately.
 */
export function createElasticsearchSender(options: ElasticsearchOptions): Sender {
  const secrets = createSecrets([options.api_key, options.password, basic(options)]);
  const endpoint = createHttpEndpoint({ type: 'elasticsearch', url: options.url, secrets, http: options });
  const headers = { 'content-type': 'application/x-ndjson', ...authorization(options) };

  async function sendBulk(items: readonly Item[]): Promise<ItemResult[]> {
    const body = items.map(({ message }) => bulkLines(message, options.index)).join('');
    const answer = await endpoint.post(BULK_PATH, headers, body);
    if (!isGood(answer)) throw failureOf(answer, endpoint);
    // Thousands of errors, or a proxy that drops the filter. What is stored already is distinguished from the rest by its id.
    if (answer.isTooLong && items.length > 1)
      throw new BatchRefusedError(
        `the answer from ${endpoint.name} for ${items.length} events is longer than 1 MB`,
      );
    const results = readJsonAnswer(BulkAnswer, answer, endpoint).items;
    if (results.length === items.length) return results;
    throw new OutageError(`${endpoint.name} returned results for ${results.length} of ${items.length} items`);
  }

  /** Sends the items, adds those that are refused to `refusals`, and returns those to send again. */
  async function attempt(items: readonly Item[], refusals: Refusal[]): Promise<Item[]> {
    const results = await sendBulk(items);
    return items.filter(({ index }, at) => {
      const result = results[at];
      if (result === undefined || isStored(result)) return false;
      if (result.status === 429 || result.status >= 500) return true;
      if (isAboutIndex(result)) {
        throw new EndpointRefusedError(`${endpoint.name} does not allow writing: ${reasonOf(result)}`);
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
      throw new OutageError(
        `${endpoint.name} is overloaded and did not accept ${items.length} of ${batch.length} events`,
      );
    },
    close: endpoint.close,
  };
}

/** 409: an earlier attempt created the document. Elasticsearch and OpenSearch read a document before they look for its id. */
const isStored = ({ status }: ItemResult) => (status >= 200 && status <= 299) || status === 409;

/** The index is missing, forbidden or read-only: the events are not the cause. */
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
