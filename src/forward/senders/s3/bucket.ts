import { hash } from 'node:crypto';
import https from 'node:https';
import { GetObjectCommand, ListObjectsV2Command, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { describeError, OutageError } from '../../../lib/errors.ts';
import { outgoingProxies } from '../../../lib/outgoing.ts';
import { createSecrets, type Secrets } from '../../../lib/secrets.ts';
import { BatchRefusedError, EndpointRefusedError } from '../../sender.ts';
import { ENCODINGS, type ObjectFile } from './objects.ts';
import { tlsConnectionOptions, timeoutOption, tlsOptions } from '../connection-options.ts';
import { z } from 'zod';
import { baseUrl } from '../../../config/setting-types.ts';

/** A bucket, as far as the sender needs it. Its functions throw the errors of the SDK. */
export type Bucket = ReturnType<typeof openBucket>;

type StoredObject = Pick<ObjectFile, 'key' | 'body' | 'contentType' | 'sha256'>;

/** Larger objects are uploaded in parts of this size, the smallest that S3 accepts. */
const PART_BYTES = 5 * 1024 * 1024;

/** One repetition by the SDK itself, for a connection that was closed while idle. The forwarder repeats with its backoff. */
const ATTEMPTS = 2;

/** Codes that say that the request was not the cause. */
const PASSING = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'InternalError',
  'RequestTimeout',
  'OperationAborted',
  'RequestTimeTooSkewed',
]);

/** Prepares the client of a bucket. Connects with the first request. */
export function openBucket(options: S3Options) {
  const { bucket, region, endpoint, access_key_id: id, secret_access_key: secret } = options;
  const timeoutMs = options.timeout_seconds * 1_000;
  const client = new S3Client({
    region,
    maxAttempts: ATTEMPTS,
    forcePathStyle: options.path_style ?? endpoint !== undefined,
    // Other servers may not know the newer checksums; each knows that of Content-MD5.
    ...(endpoint && { endpoint, requestChecksumCalculation: 'WHEN_REQUIRED' as const }),
    ...(id !== undefined &&
      secret !== undefined && {
        credentials: {
          accessKeyId: id,
          secretAccessKey: secret,
          ...(options.session_token && { sessionToken: options.session_token }),
        },
      }),
    requestHandler: {
      connectionTimeout: Math.min(timeoutMs, 10_000),
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpsAgent: new https.Agent({
        ...tlsConnectionOptions(options.tls),
        keepAlive: true,
        proxyEnv: outgoingProxies(),
      }),
    },
  });
  // A bucket with Object Lock accepts no object without a checksum.
  client.middlewareStack.add((next) => async ({ input, ...args }) => {
    const md5 =
      'Body' in input && input.Body instanceof Uint8Array ? hash('md5', input.Body, 'base64') : undefined;
    return next({ ...args, input: { ...input, ...(md5 && { ContentMD5: md5 }) } });
  });
  const secrets = createSecrets([secret, options.session_token]);
  const closing = new AbortController();
  // An answer without end always makes progress, so that `requestTimeout` never ends it.
  const limit = () => AbortSignal.any([closing.signal, AbortSignal.timeout(10 * timeoutMs)]);
  const name = `s3 bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;

  return {
    /** Stores an object, in parts if it is large, with its SHA-256 as metadata. */
    async put({ key, body, contentType, sha256 }: StoredObject): Promise<void> {
      const params = { Bucket: bucket, Key: key, Body: body, ContentType: contentType, Metadata: { sha256 } };
      const { ETag: tag } = await new Upload({
        client,
        params,
        partSize: PART_BYTES,
        queueSize: 2,
        abortController: { signal: limit(), abort: () => undefined },
      }).done();
      if (tag === undefined)
        throw new Error('the answer has no ETag: it is not of S3, but of a proxy in between?');
    },
    /** The last key that begins like this, in the order of UTF-8; undefined if there is none. */
    async lastKey(prefix: string): Promise<string | undefined> {
      let last: string | undefined;
      let next: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: next }),
          { abortSignal: limit() },
        );
        last = page.Contents?.at(-1)?.Key ?? last;
        next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (next !== undefined);
      return last;
    },
    async read(key: string): Promise<Buffer> {
      const get = new GetObjectCommand({ Bucket: bucket, Key: key });
      const { Body: body } = await client.send(get, { abortSignal: limit() });
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    },
    /** The error that a failure means for a batch or a report. */
    failureOf: (error: Error) => failureOf(error, name, secrets),
    close() {
      closing.abort();
      client.destroy();
    },
  };
}

function failureOf(cause: Error, name: string, secrets: Secrets): Error {
  const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
  if (cause.name === 'CredentialsProviderError') {
    return new EndpointRefusedError(`${name}: no credentials. Set access_key_id and secret_access_key`, {
      cause,
    });
  }
  const reason = describeError(cause);
  const shown = secrets.hide(reason);
  const message = `${name} did not store an object: ${cause.name}: ${shown}`;
  // A server may quote the session token of the request.
  const options = shown === reason ? { cause } : {};
  if (status === undefined || status >= 500 || status === 408 || status === 429 || PASSING.has(cause.name)) {
    return new OutageError(message, options);
  }
  if (cause.name === 'EntityTooLarge') return new BatchRefusedError(message, options);
  return new EndpointRefusedError(message, options);
}

/** A bucket of Amazon S3, or of a server that speaks its protocol. */
export const s3Options = z
  .strictObject({
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket, such as network-events'),
    region: z.string().min(1, 'must be a region such as eu-central-1').default('us-east-1'),
    /** Of a server other than Amazon's. */
    endpoint: baseUrl.optional(),
    /** The bucket is in the path of the address instead of the host name: most other servers need it. */
    path_style: z.boolean('must be true or false').optional(),
    /** Begins the name of every object. */
    prefix: z
      .string()
      .regex(
        /^(?:[\w.!*'()=-]+\/)*$/,
        'must consist of names, each with a final "/", such as network/events/',
      )
      .default(''),
    encoding: z.enum(ENCODINGS, `must be one of ${ENCODINGS.join(', ')}`).default('ndjson.gz'),
    /** Without them, those of the environment, of the profile or of the machine's role. */
    access_key_id: z.string().min(1, 'must be the id of an access key').optional(),
    secret_access_key: z.string().min(1, 'must be the secret of an access key').optional(),
    session_token: z.string().min(1, 'must be a session token').optional(),
    tls: tlsOptions.optional(),
    timeout_seconds: timeoutOption(300, 30),
  })
  .refine(
    ({ access_key_id: id, secret_access_key: secret }) => (id === undefined) === (secret === undefined),
    'access_key_id and secret_access_key must be set together',
  );

export type S3Options = z.output<typeof s3Options>;
