import { randomUUID } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { OutageError } from '../lib/errors.ts';
import { MESSAGE_TYPES, ORIGINS, SENT_TYPE_NAME, type UNKNOWN_MESSAGE_TYPE } from '../events/domain.ts';

/**
 * The data of the queue's jobs. A job outlives the program that wrote it, so its data carries a version: a change of
 * shape is a new version beside the old one, and the worker reads both.
 */

/** Bytes of a delivery that can't be read as records, with the reason, kept for quarantine. */
const Unreadable = z.object({
  reason: z.string(),
  content: z.string(),
  /** The Content-Encoding of the bytes, if they are a whole body. */
  encoding: z.string().nullable().optional(),
});

/**
 * Records and unreadable parts of a large delivery, packed by a thread: as plain text they would hold up the event loop
 * each time a job is written or read.
 */
const Packed = z.object({
  /** Zstandard of the text, in base64. */
  records: z.string(),
  /** The content is Zstandard of the bytes, in base64. */
  unreadable: z.array(Unreadable),
  /** Characters and bytes before they were packed. */
  size: z.int().min(0),
});

/** The end of the year 9999, in epoch milliseconds; and the largest integer of the tables. */
const MAX_TIME = 253_402_300_799_999;
const MAX_INTEGER = 2 ** 31 - 1;

/** A delivery between the ingest endpoint and the tables. */
export const QueuedDelivery = z.object({
  deliveryId: z.uuid(),
  source: z
    .string()
    .refine((source) => !source.includes('\0'), 'contains a NUL character, which no table can store'),
  messageType: z.enum(MESSAGE_TYPES),
  sentType: z.string().regex(SENT_TYPE_NAME).optional(),
  /** Epoch milliseconds. */
  receivedAt: z.number().min(0).max(MAX_TIME),
  origin: z.enum(ORIGINS),
  secretForm: z.enum(['basic', 'bearer', 'raw', 'header', 'hmac']).nullable(),
  bodyBytes: z.int().min(0).max(MAX_INTEGER),
  /** The number of parts in the body: records and unreadable parts. */
  recordCount: z.int().min(0).max(MAX_INTEGER),
  /** The records as the text of one JSON array, as sent, so no digit is lost and nothing is serialized twice. */
  records: z.string(),
  unreadable: z.array(Unreadable),
  /** Of a large delivery, which then has neither `records` nor `unreadable` outside of this. */
  packed: Packed.optional(),
  /** Of a quarantine replay: how many identical records of the first delivery precede this one (see `eventId`). */
  twinsBefore: z.number().optional(),
});

export type QueuedDelivery = z.infer<typeof QueuedDelivery>;

/** A delivery whose message type can't be read: all of it is in `unreadable`. */
type UnknownDelivery = Omit<QueuedDelivery, 'messageType'> & {
  readonly messageType: typeof UNKNOWN_MESSAGE_TYPE;
};

/** A delivery as a worker reads it from a job. */
export type ReadDelivery = QueuedDelivery | UnknownDelivery;

/**
 * A new delivery id: a UUIDv7 (RFC 9562, section 5.7), so that ids sort by time of arrival and an index of them grows at
 * one end. Ids of one millisecond count up in the next 12 bits (section 6.2, method 1), so that they sort alike. The random
 * part is Node.js's own UUID, which draws from a pool: 0.2 us, compared with 14 us for random bytes.
 */
export function newDeliveryId(receivedAt: number): string {
  countInMs = receivedAt === lastMs ? (countInMs + 1) & 0xfff : 0;
  lastMs = receivedAt;
  const time = receivedAt.toString(16).padStart(12, '0');
  const count = countInMs.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${randomUUID().slice(18)}`;
}

let lastMs = 0;
let countInMs = 0;

/** The weight of a delivery in a batch, in characters: its records and unreadable parts. */
export function deliverySize({ records, unreadable, packed }: ReadDelivery): number {
  return unreadable.reduce(
    (sum, { reason, content }) => sum + reason.length + content.length,
    records.length + (packed?.size ?? 0),
  );
}

/** The level that costs the least: 10 MiB take 5 ms, or 25 ms if they are random. */
const PACKING = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const pack = (bytes: string | Buffer) => zstdCompressSync(bytes, PACKING).toString('base64');
const unpack = (packed: string) => zstdDecompressSync(Buffer.from(packed, 'base64'));

/** Packs records and unreadable parts of a large delivery. It takes up to 100 ms: only for threads. */
export function packBody({ records, unreadable }: Pick<QueuedDelivery, 'records' | 'unreadable'>): Pick<
  QueuedDelivery,
  'records' | 'unreadable'
> & {
  readonly packed: z.infer<typeof Packed>;
} {
  const contents = unreadable.map(({ content }) => Buffer.from(content, 'base64'));
  const packed = {
    records: pack(records),
    unreadable: unreadable.map((part, index) => ({ ...part, content: pack(contents[index] ?? '') })),
    size: contents.reduce((sum, content) => sum + content.length, records.length),
  };
  return { records: '[]', unreadable: [], packed };
}

/** Packs a body that is unreadable as a whole: `packBody` of it, without its bytes in base64 on the way. */
export function packUnreadable(
  content: Buffer,
  reason: string,
  encoding: string | undefined,
): ReturnType<typeof packBody> {
  const part = { reason, content: pack(content), encoding: encoding ?? null };
  const packed = { records: pack('[]'), unreadable: [part], size: content.length };
  return { records: '[]', unreadable: [], packed };
}

/** The records of a delivery, packed or not. Unpacking takes as long as packing. Throws if the data is damaged. */
export function recordsOf({ records, packed }: ReadDelivery): string {
  return packed === undefined ? records : unpack(packed.records).toString();
}

/** A part of a delivery that cannot become an event: the reason, and the original bytes. */
export interface SetAside {
  readonly reason: string;
  readonly content: Buffer;
  /** Content-Encoding of the bytes if they are a whole body. */
  readonly encoding?: string | null;
}

/** The unreadable parts of a delivery, packed or not, one at a time. Throws if the data is damaged. */
export function* unreadableOf({ unreadable, packed }: ReadDelivery): Generator<SetAside> {
  for (const { reason, content, encoding = null } of unreadable) {
    yield { reason, content: Buffer.from(content, 'base64'), encoding };
  }
  for (const { reason, content, encoding = null } of packed?.unreadable ?? []) {
    yield { reason, content: unpack(content), encoding };
  }
}

/** The data of one job: the deliveries of one group commit, in order of arrival. */
export const DeliveryBatch = z.object({
  /** 2 if any delivery is packed, 3 if any is of `ALERT` or `OTHER`: an older worker leaves such a job to a newer one. */
  version: z.literal([1, 2, 3]),
  deliveries: z.array(QueuedDelivery),
});

export type DeliveryBatch = z.infer<typeof DeliveryBatch>;

/** A batch that only a newer version of xiq-sink can read. */
export const NewerBatch = z.object({ version: z.int().gt(Math.max(...DeliveryBatch.shape.version.values)) });

/** The job of these deliveries, in the oldest version that has room for them. */
export function toBatch(deliveries: readonly QueuedDelivery[]): DeliveryBatch {
  const isNew = deliveries.some(({ messageType }) => messageType === 'ALERT' || messageType === 'OTHER');
  const isPacked = deliveries.some(({ packed }) => packed !== undefined);
  const version = isNew ? 3 : isPacked ? 2 : 1;
  return { version, deliveries: [...deliveries] };
}

/** One job: at most 512 deliveries or 1 MiB of them; a larger delivery gets its own job. */
export const GROUP_BOUNDS = { maxItems: 512, maxBytes: 1024 * 1024 };

/** A batch as the bytes that the spool stores. */
export function encodeBatch(deliveries: readonly QueuedDelivery[]): Buffer {
  return Buffer.from(JSON.stringify(toBatch(deliveries)));
}

/** Reads the result of `encodeBatch`. Throws an OutageError if a newer version wrote it, and an error if it is no batch. */
export function decodeBatch(bytes: Buffer): DeliveryBatch {
  const data: unknown = JSON.parse(bytes.toString());
  const newer = NewerBatch.safeParse(data).data;
  if (newer === undefined) return DeliveryBatch.parse(data);
  throw new OutageError(`version ${newer.version} belongs to a newer xiq-sink: upgrade this process`);
}
