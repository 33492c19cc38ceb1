import type { z } from 'zod';
import type { BatchLimits } from '../batch-events.ts';
import type { FormatName } from '../formats/formats.ts';
import type { Sender } from '../sender.ts';
import { CHAT_LIMITS, chatOptions, createChatSender } from './chat.ts';
import { createElasticsearchSender, elasticsearchOptions } from './elasticsearch.ts';
import { createFileSender, fileOptions } from './file.ts';
import { createHttpsSender, httpsOptions } from './https.ts';
import { kafkaOptions, type KafkaOptions } from './kafka-options.ts';
import { createRelpSender, relpOptions, relpTlsOptions } from './relp.ts';
import { otlpOptions, type OtlpOptions } from './otlp-options.ts';
import { createS3Sender, S3_LIMITS } from './s3/s3.ts';
import { s3Options } from './s3/s3-options.ts';
import { createSentinelSender, sentinelOptions } from './sentinel.ts';
import { createSmtpSender, SMTP_LIMITS, smtpOptions } from './smtp.ts';
import { createSplunkHecSender, splunkHecOptions } from './splunk-hec.ts';
import { createStdoutSender, stdoutOptions } from './stdout.ts';
import { createSyslogSender, syslogOptions } from './syslog.ts';

type Formats = readonly [FormatName, ...FormatName[]];

export interface SenderType {
  /** Its options; credentials are given as text. */
  readonly options: z.ZodType;
  /** The formats that it supports, the default first. */
  readonly formats: Formats;
  /** The limits of its batches, if they are not the usual ones. */
  readonly limits?: BatchLimits;
  /** Creates a sender of text in a format; throws a ZodError for wrong options. Connects only with the first batch. */
  create(options: unknown, format?: FormatName): Sender;
}

/** JSON alone, such as Splunk needs, which gets the text in an envelope. */
const JSON_FORMATS = ['json', 'ecs', 'ocsf'] as const;
const LINE_FORMATS = [...JSON_FORMATS, 'cef', 'leef', 'text'] as const;
export const SYSLOG_FORMATS = ['cef', 'leef', ...JSON_FORMATS] as const;

export const SENDER_TYPES = {
  syslog: senderType(syslogOptions, SYSLOG_FORMATS, (options) => createSyslogSender(options)),
  relp: senderType(relpOptions, SYSLOG_FORMATS, createRelpSender),
  'relp+tls': senderType(relpTlsOptions, SYSLOG_FORMATS, createRelpSender),
  splunk_hec: senderType(splunkHecOptions, JSON_FORMATS, createSplunkHecSender),
  elasticsearch: senderType(elasticsearchOptions, ['ecs', 'json', 'ocsf'], createElasticsearchSender),
  https: senderType(httpsOptions, JSON_FORMATS, (options) => createHttpsSender(options)),
  otlp: senderType(otlpOptions, ['otlp', ...JSON_FORMATS], otlpSender),
  kafka: senderType(kafkaOptions, [...JSON_FORMATS, 'cef', 'leef'], kafkaSender),
  sentinel: senderType(sentinelOptions, ['json', 'ocsf', 'ecs'], createSentinelSender),
  s3: { ...senderType(s3Options, JSON_FORMATS, createS3Sender), limits: S3_LIMITS },
  smtp: { ...senderType(smtpOptions, ['text', 'json'], createSmtpSender), limits: SMTP_LIMITS },
  chat: { ...senderType(chatOptions, ['text', 'json'], createChatSender), limits: CHAT_LIMITS },
  file: senderType(fileOptions, LINE_FORMATS, createFileSender),
  stdout: senderType(stdoutOptions, LINE_FORMATS, () => createStdoutSender()),
} as const satisfies Record<string, SenderType>;

/** The types of destinations that can carry a report: their senders have `sendReport`. */
export const REPORT_TYPES = [
  'file',
  's3',
  'https',
  'smtp',
] as const satisfies readonly (keyof typeof SENDER_TYPES)[];

function senderType<Schema extends z.ZodType>(
  options: Schema,
  formats: Formats,
  create: (options: z.output<Schema>, format?: FormatName) => Sender,
): SenderType {
  return { options, formats, create: (given, format) => create(options.parse(given), format) };
}

/** The library takes half a second to load, which only those who use it should wait for. */
function kafkaSender(options: KafkaOptions): Sender {
  return loadingSender(async () => (await import('./kafka.ts')).createKafkaSender(options));
}

/** A third of a second. */
function otlpSender(options: OtlpOptions, format: FormatName | undefined): Sender {
  return loadingSender(async () => (await import('./otlp.ts')).createOtlpSender(options, format));
}

/** A sender that is loaded with its first batch. */
function loadingSender(load: () => Promise<Sender>): Sender {
  let loaded: Promise<Sender> | undefined;
  return {
    send: async (batch) => (await (loaded ??= load())).send(batch),
    close: async () => (await loaded)?.close(),
  };
}
