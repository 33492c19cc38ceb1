import { z } from 'zod';
import { MESSAGE_TYPES } from '../domain.ts';
import type { UNKNOWN_MESSAGE_TYPE } from '../domain.ts';

/**
 * What travels through the queue. A job outlives the program that wrote it, so its data is tagged with a
 * version: a change of shape is a new version beside the old one, and the worker reads both.
 */

/** Bytes of a delivery that could not be read as records, with the reason, kept for quarantine. */
const Unreadable = z.object({
  reason: z.string(),
  /** The bytes as they came, in base64. */
  content: z.string(),
  /** The Content-Encoding that the bytes are in, of a whole body. */
  encoding: z.string().nullable().optional(),
});

/** The end of the year 9999, in epoch milliseconds; and the largest integer of the tables. */
const MAX_TIME = 253_402_300_799_999;
const MAX_INTEGER = 2 ** 31 - 1;

/** A delivery between the ingest endpoint and the tables. */
export const QueuedDelivery = z.object({
  deliveryId: z.uuid(),
  source: z.string().refine((source) => !source.includes('\0'), 'has a character that no table holds'),
  messageType: z.enum(MESSAGE_TYPES),
  /** Epoch milliseconds. */
  receivedAt: z.number().min(0).max(MAX_TIME),
  origin: z.enum(['webhook', 'backfill']),
  secretForm: z.enum(['basic', 'bearer', 'raw', 'header', 'hmac']).nullable(),
  /** Size of the body as it arrived. */
  bodyBytes: z.int().min(0).max(MAX_INTEGER),
  /** How many parts the body had: the records and what is unreadable. */
  recordCount: z.int().min(0).max(MAX_INTEGER),
  /** The records as the text of one JSON array, as sent, so that no digit is lost and nothing is serialised twice. */
  records: z.string(),
  unreadable: z.array(Unreadable),
  /** Of a replay: how many identical records of the first delivery stand before this one (see `eventId`). */
  twinsBefore: z.number().optional(),
});

export type QueuedDelivery = z.infer<typeof QueuedDelivery>;

/** A delivery of which not even the message type could be read: all of it is in `unreadable`. */
type UnknownDelivery = Omit<QueuedDelivery, 'messageType'> & {
  readonly messageType: typeof UNKNOWN_MESSAGE_TYPE;
};

/** A delivery as a worker has it in hand. */
export type ReadDelivery = QueuedDelivery | UnknownDelivery;

/** What a delivery weighs in a batch, in characters: its records and what could not be read as one. */
export function weighDelivery({ records, unreadable }: ReadDelivery): number {
  return unreadable.reduce(
    (sum, { reason, content }) => sum + reason.length + content.length,
    records.length,
  );
}

/** The data of one job: the deliveries that one group commit took, in order of arrival. */
export const DeliveryBatch = z.object({
  version: z.literal(1),
  deliveries: z.array(QueuedDelivery),
});

export type DeliveryBatch = z.infer<typeof DeliveryBatch>;

/** One job: at most 512 deliveries or 1 MiB of them; a delivery larger than that goes alone. */
export const GROUP_BOUNDS = { maxItems: 512, maxBytes: 1024 * 1024 };

/** A batch as the bytes that the spool keeps. */
export function encodeBatch(deliveries: readonly QueuedDelivery[]): Buffer {
  return Buffer.from(JSON.stringify({ version: 1, deliveries }));
}

/** Reads what `encodeBatch` made. Throws when it is no batch, or one of a version that is not known here. */
export function decodeBatch(bytes: Buffer): DeliveryBatch {
  return DeliveryBatch.parse(JSON.parse(bytes.toString()));
}
