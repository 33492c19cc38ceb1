import https from 'node:https';
import { GetObjectCommand, ListObjectsV2Command, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { describeError, OutageError } from '../../errors.ts';
import { BatchRefusedError, EndpointRefusedError } from '../sender.ts';
import type { ObjectFile } from './s3-objects.ts';
import type { S3Options } from './s3.ts';
import { tlsConnectionOptions } from './connection-options.ts';

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
    // Other servers may not know the checksums that Amazon's accepts beside the signature.
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
      httpsAgent: new https.Agent({ ...tlsConnectionOptions(options.tls), keepAlive: true }),
    },
  });
  const name = `s3 bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;

  return {
    /** Stores an object, in parts if it is large, with its SHA-256 as metadata. */
    async put({ key, body, contentType, sha256 }: StoredObject): Promise<void> {
      const params = { Bucket: bucket, Key: key, Body: body, ContentType: contentType, Metadata: { sha256 } };
      await new Upload({ client, params, partSize: PART_BYTES, queueSize: 2 }).done();
    },
    /** The last key that begins like this, in the order of UTF-8; undefined if there is none. */
    async lastKey(prefix: string): Promise<string | undefined> {
      let last: string | undefined;
      let next: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: next }),
        );
        last = page.Contents?.at(-1)?.Key ?? last;
        next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (next !== undefined);
      return last;
    },
    async read(key: string): Promise<Buffer> {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    },
    /** The error that a failure means for a batch or a report. */
    failureOf: (error: Error) => failureOf(error, name),
    close: () => client.destroy(),
  };
}

function failureOf(cause: Error, name: string): Error {
  const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
  if (cause.name === 'CredentialsProviderError') {
    return new EndpointRefusedError(`${name}: no credentials. Set access_key_id and secret_access_key`, {
      cause,
    });
  }
  const message = `${name} did not store an object: ${cause.name}: ${describeError(cause)}`;
  if (status === undefined || status >= 500 || status === 408 || status === 429 || PASSING.has(cause.name)) {
    return new OutageError(message, { cause });
  }
  if (cause.name === 'EntityTooLarge') return new BatchRefusedError(message, { cause });
  return new EndpointRefusedError(message, { cause });
}
