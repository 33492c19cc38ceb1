import { z } from 'zod';
import { tlsOptions } from './connection-options.ts';

const BROKER = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const credentials = {
  username: z.string().min(1, 'must be a user name'),
  password: z.string().min(1, 'must be a password'),
};

/** How to log in; the names are those of the protocol (RFC 4616, RFC 5802). */
const saslOptions = z.strictObject({
  mechanism: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'], 'must be one of plain, scram-sha-256, scram-sha-512')
    .default('plain'),
  ...credentials,
});

export const kafkaOptions = z
  .strictObject({
    /** Where to ask for the cluster's brokers: any of them, `host` or `host:port`. */
    brokers: z
      .array(z.string().regex(BROKER, 'must be a host or host:port'))
      .min(1, 'must contain at least one broker'),
    topic: z.string().regex(/^[\w.-]{1,249}$/, 'must be 1 to 249 letters, digits, "_", "-" and "."'),
    /** Undefined: plain TCP. */
    tls: tlsOptions.optional(),
    sasl: saslOptions.optional(),
    /** gzip would hold the event loop for 70 ms with 500 events; lz4 for 20. */
    compression: z
      .enum(['gzip', 'zstd', 'lz4', 'snappy', 'none'], 'must be one of gzip, zstd, lz4, snappy, none')
      .default('lz4'),
    /** Lets the cluster create the topic if it does so on request (`auto.create.topics.enable`). */
    create_topic: z.boolean('must be true or false').default(false),
    timeout_seconds: z.number().min(0.1, 'must be at least 0.1 seconds').default(30),
  })
  .refine(({ sasl, tls }) => sasl?.mechanism !== 'plain' || tls !== undefined, {
    path: ['tls'],
    message: 'must be set: sasl plain would send the password in clear text',
  });

export type KafkaOptions = z.output<typeof kafkaOptions>;
