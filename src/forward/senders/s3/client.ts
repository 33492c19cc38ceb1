import { hash } from 'node:crypto';
import https from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import pTimeout from 'p-timeout';
import { outgoingProxies } from '../../../lib/outgoing.ts';
import { createSecrets } from '../../../lib/secrets.ts';
import { tlsConnectionOptions } from '../connection-options.ts';
import type { S3Options } from './s3-options.ts';

/** One repetition by the SDK itself, for a connection that was closed while idle. The forwarder repeats with its backoff. */
const ATTEMPTS = 2;

/** Slower transfers are ended: half a megabyte a second. */
const SLOWEST_BYTES_PER_MS = 500;

/** Prepares a client of the SDK for a bucket. Connects with the first request. */
export function openClient(options: S3Options, more: S3ClientConfig = {}) {
  const { bucket, region, endpoint, access_key_id: id, secret_access_key: secret } = options;
  const timeoutMs = options.timeout_seconds * 1_000;
  const client = new S3Client({
    ...more,
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
      socketTimeout: timeoutMs,
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
  const send = client.send.bind(client);
  // The SDK aborts its requests to the bucket, but waits for ever for credentials of a service that does not answer.
  Object.assign(client, {
    send: (command: Parameters<typeof send>[0], options: { readonly abortSignal?: AbortSignal } = {}) => {
      const { abortSignal: signal } = options;
      return pTimeout(send(command, options), { milliseconds: Infinity, ...(signal && { signal }) });
    },
  });
  const secrets = createSecrets([secret, options.session_token]);
  const closing = new AbortController();
  /** The time that a request may take, which is longer if it transfers many bytes. */
  const limits = (bytes = 0) => {
    const transferMs = Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
    // An answer without end always makes progress, so that no timeout of the handler ends it.
    const signal = AbortSignal.timeout(10 * timeoutMs + transferMs);
    return {
      abortSignal: AbortSignal.any([closing.signal, signal]),
      requestTimeout: timeoutMs + transferMs,
    };
  };
  const name = `s3 bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;

  return {
    client,
    limits,
    name,
    secrets,
    close: () => {
      closing.abort();
      client.destroy();
    },
  };
}
