import { z } from 'zod';
import { baseUrl } from '../../../config/setting-types.ts';
import { timeoutOption, tlsOptions } from '../connection-options.ts';
import { ENCODINGS } from './objects.ts';

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
