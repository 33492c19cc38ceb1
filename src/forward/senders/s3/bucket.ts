import { GetObjectCommand, ListObjectsV2Command, S3ServiceException } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { describeError, OutageError } from '../../../lib/errors.ts';
import type { Secrets } from '../../../lib/secrets.ts';
import { BatchRefusedError, EndpointRefusedError } from '../../sender.ts';
import { openClient } from './client.ts';
import type { ObjectFile } from './objects.ts';
import type { S3Options } from './s3-options.ts';

/** A bucket, as far as the sender needs it. Its functions throw the errors of the SDK. */
export type Bucket = ReturnType<typeof openBucket>;

type StoredObject = Pick<ObjectFile, 'key' | 'body' | 'contentType' | 'sha256'>;

/** Larger objects are uploaded in parts of this size, the smallest that S3 accepts. */
const PART_BYTES = 5 * 1024 * 1024;

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
  const { bucket } = options;
  const { client, limits, name, secrets, close } = openClient(options);

  return {
    /** Stores an object, in parts if it is large, with its SHA-256 as metadata. */
    async put({ key, body, contentType, sha256 }: StoredObject): Promise<void> {
      const params = { Bucket: bucket, Key: key, Body: body, ContentType: contentType, Metadata: { sha256 } };
      const { ETag: tag } = await new Upload({
        client,
        params,
        partSize: PART_BYTES,
        queueSize: 2,
        abortController: { signal: limits().abortSignal, abort: () => undefined },
      }).done();
      if (tag === undefined)
        throw new Error('the answer has no ETag: does it come from a proxy instead of S3?');
    },
    /** The last key that begins like this, in the order of UTF-8; undefined if there is none. */
    async lastKey(prefix: string): Promise<string | undefined> {
      let last: string | undefined;
      let next: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: next }),
          limits(),
        );
        last = page.Contents?.at(-1)?.Key ?? last;
        next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (next !== undefined);
      return last;
    },
    async read(key: string): Promise<Buffer> {
      const get = new GetObjectCommand({ Bucket: bucket, Key: key });
      const { Body: body } = await client.send(get, limits());
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    },
    /** The error that a failure means for a batch or a report. */
    failureOf: (error: Error) => failureOf(error, name, secrets),
    close,
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
