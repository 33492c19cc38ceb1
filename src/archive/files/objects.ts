import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  NoSuchKey,
  paginateListObjectsV2,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { openClient } from '../../forward/senders/s3/client.ts';
import type { S3Options } from '../../forward/senders/s3/s3-options.ts';
import { describeError, OutageError, toError } from '../../lib/errors.ts';
import { sha256Of, sha256OfStream } from '../../lib/files/sha256.ts';
import { countOf } from '../../lib/text/units.ts';
import { BrokenFileError, placeIn, type StoredFile } from './archive-files.ts';
import { isFullDisk } from './full-disk.ts';

/** The files of the archive in a bucket. Throws the errors of `ArchiveFiles`. */
export type ArchiveObjects = ReturnType<typeof openObjects>;

/** A server of which the objects have no versions does not know the request for them. */
const HAS_NO_VERSIONS = new Set(['NotImplemented', 'MethodNotAllowed']);

const ignore = () => undefined;

/** The SDK would print that it cannot repeat an upload, on standard error. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Prepares the client of the bucket. Connects with the first request. */
export function openObjects(options: S3Options) {
  const { bucket: Bucket, prefix, timeout_seconds: seconds } = options;
  // Every file is compared with a hash of our own, which says more than an error of the SDK.
  const { client, limits, name, secrets } = openClient(options, {
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: SILENT,
  });
  const at = (path: string) => ({ Bucket, Key: `${prefix}${placeIn('', path)}` });
  const nameOf = (path: string) => `s3://${Bucket}/${prefix}${path}`;

  /** Makes requests. What fails is thrown in words that name the bucket. */
  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw failureOf(toError(error));
    }
  }

  function failureOf(cause: Error): Error {
    if (cause instanceof BrokenFileError || cause instanceof OutageError || isFullDisk(cause)) return cause;
    const reason = secrets.hide(describeError(cause));
    // A server may quote a secret of the request.
    const options = reason === describeError(cause) ? { cause } : {};
    if (cause.name === 'TimeoutError' || cause.name === 'AbortError') {
      const limit = `no answer within ${countOf(seconds, 'second')}, or less than 0.5 MB/s`;
      return new OutageError(`The archive's ${name} is too slow (${limit}). Try again later.`, options);
    }
    return cause instanceof S3ServiceException || cause.name === 'CredentialsProviderError'
      ? new OutageError(
          `The archive's ${name} refused the request (${cause.name}: ${reason}). ${CHECK_KEY}`,
          options,
        )
      : new OutageError(`Can't reach the archive's ${name} (${reason}). ${CHECK_ADDRESS}`, options);
  }

  /** Reads an object to its end. */
  async function read<T>(
    file: StoredFile,
    target: (content: Readable, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limited = limits(file.bytes);
    try {
      const { Body: body } = await client.send(new GetObjectCommand(at(file.path)), limited);
      if (!(body instanceof Readable)) throw new TypeError('the answer has no body');
      return await target(body, limited.abortSignal);
    } catch (error) {
      if (!(error instanceof NoSuchKey)) throw error;
      throw new BrokenFileError(nameOf(file.path), 'is gone', { cause: error });
    }
  }

  /** The versions of an object. Undefined: that of a server which has none. */
  async function versionsOf(path: string): Promise<readonly (string | undefined)[]> {
    const { Key: key } = at(path);
    try {
      // A file is written once. The bucket has one version of it, and perhaps a marker that it was deleted.
      const list = new ListObjectVersionsCommand({ Bucket, Prefix: key });
      const { Versions: versions = [], DeleteMarkers: markers = [] } = await client.send(list, limits());
      return [...versions, ...markers].filter((one) => one.Key === key).map((one) => one.VersionId);
    } catch (error) {
      if (error instanceof S3ServiceException && HAS_NO_VERSIONS.has(error.name)) return [undefined];
      throw error;
    }
  }

  return {
    /** The server compares what it receives with the SHA-256, if it knows that of this request. */
    upload: (file: StoredFile, written: string) =>
      attempt(async () => {
        const { path, bytes, sha256 } = file;
        const checksum = Buffer.from(sha256, 'hex').toString('base64');
        const content = createReadStream(written);
        try {
          await client.send(
            new PutObjectCommand({
              ...at(path),
              Body: content,
              ContentLength: bytes,
              ContentType: 'application/vnd.apache.parquet',
              ChecksumAlgorithm: 'SHA256',
              ChecksumSHA256: checksum,
            }),
            limits(bytes),
          );
        } finally {
          content.destroy();
        }
        const head = await client.send(
          new HeadObjectCommand({ ...at(path), ChecksumMode: 'ENABLED' }),
          limits(),
        );
        if (head.ContentLength !== bytes || (head.ChecksumSHA256 ?? checksum) !== checksum)
          throw new OutageError(`${nameOf(path)} was not stored as uploaded. Try again later.`);
      }),

    download: (file: StoredFile, target: string) =>
      attempt(async () => {
        await read(file, (content, signal) =>
          pipeline(content, createWriteStream(target, { mode: 0o600, flush: true }), { signal }),
        );
        const { size } = await stat(target);
        if (size !== file.bytes)
          throw new BrokenFileError(
            nameOf(file.path),
            `has ${size} bytes, but was written with ${file.bytes}`,
          );
        if ((await sha256Of(target)) !== file.sha256)
          throw new BrokenFileError(nameOf(file.path), 'has a different SHA-256 than when it was written');
      }),

    digest: (file: StoredFile) => attempt(() => read(file, sha256OfStream)),

    sizes: () =>
      attempt(async () => {
        const sizes = new Map<string, number>();
        for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix }, limits()))
          for (const { Key: key = '', Size: size = 0 } of page.Contents ?? [])
            sizes.set(key.slice(prefix.length), size);
        return sizes;
      }),

    /** Deletes all versions of an object. */
    remove: (path: string) =>
      attempt(async () => {
        const refused: { readonly version: string; readonly error: Error }[] = [];
        for (const version of await versionsOf(path)) {
          await client
            .send(new DeleteObjectCommand({ ...at(path), VersionId: version }), limits())
            .catch((error: unknown) => refused.push({ version: version ?? 'null', error: toError(error) }));
        }
        const [first] = refused;
        if (first === undefined) return;
        const which = `${refused.length === 1 ? 'version' : 'versions'} ${refused.map(({ version }) => version).join(', ')}`;
        throw new OutageError(
          `the bucket refused to delete ${which} (${first.error.name}: ${secrets.hide(first.error.message)})`,
        );
      }),
  };
}

const CHECK_KEY = "Check ARCHIVE_S3, its key, and the key's permissions (docs/archive.md#s3).";
const CHECK_ADDRESS = 'Check ARCHIVE_S3 and ARCHIVE_S3_ENDPOINT.';
