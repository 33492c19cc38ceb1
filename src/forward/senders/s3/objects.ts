import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Message } from '../../sender.ts';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** The content of an object: lines of JSON, compressed, or a Parquet file with the line as one of its columns. */
export const ENCODINGS = ['ndjson.gz', 'parquet'] as const;

export interface ObjectFile {
  readonly key: string;
  readonly body: Buffer;
  readonly contentType: string;
  readonly sha256: string;
  readonly events: number;
  /** Positions in the log; undefined for an event that is sent by itself. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}

const compress = promisify(gzip);

const CONTENT_TYPES = { 'ndjson.gz': 'application/gzip', parquet: 'application/vnd.apache.parquet' } as const;

/** Divides a batch into objects by source, message type and hour (UTC), each in the order of the batch. */
export async function* toObjects(
  batch: readonly Message[],
  { prefix, encoding }: { readonly prefix: string; readonly encoding: (typeof ENCODINGS)[number] },
): AsyncGenerator<ObjectFile> {
  for (const [folder, messages] of Map.groupBy(batch, folderOf)) {
    const body = encoding === 'parquet' ? await toParquet(messages) : await toLines(messages);
    const sha256 = hash('sha256', body);
    const first = messages[0]?.event.position;
    const last = messages.at(-1)?.event.position;
    yield {
      key: `${prefix}${folder}${rangeOf(first, last)}${sha256.slice(0, 16)}.${encoding}`,
      body,
      contentType: CONTENT_TYPES[encoding],
      sha256,
      events: messages.length,
      first,
      last,
    };
    await nextTurn();
  }
}

const toLines = (messages: readonly Message[]) =>
  compress(messages.map(({ text }) => `${text}\n`).join(''), { level: 6 });

/** In the form of Hive, which Athena, Spark and DuckDB read as columns. */
function folderOf({ event }: Message): string {
  if (event.position === undefined) return 'single/';
  const [date = '', time = ''] = event.occurredAt.split('T');
  const source = encodeURIComponent(event.source);
  return `source=${source}/type=${event.messageType}/date=${date}/hour=${time.slice(0, 2)}/`;
}

/** So many digits that names sort by position. */
const DIGITS = 13;

/** The beginning of a name; names sort in the order of the log. */
export const rangeOf = (first: number | undefined, last: number | undefined): string =>
  first === undefined || last === undefined
    ? ''
    : `${String(first).padStart(DIGITS, '0')}-${String(last).padStart(DIGITS, '0')}-`;

const bigintOrNull = (value: string | number | null | undefined) =>
  value === null || value === undefined ? null : BigInt(value);

type Type = Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>;

const NUMBER: Type = { type: 'INT64' };
/** The logical types beside the converted ones, which older readers know. */
const TEXT: Type = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
const TIME: Type = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
};

/** The columns of an object: the envelope as typed values, and the event in the destination's format. */
const COLUMNS: readonly (readonly [name: string, type: Type, read: (message: Message) => unknown])[] = [
  ['position', NUMBER, ({ event }) => bigintOrNull(event.position)],
  ['event_id', TEXT, ({ event }) => event.eventId],
  ['delivery_id', TEXT, ({ event }) => event.deliveryId],
  ['source', TEXT, ({ event }) => event.source],
  ['message_type', TEXT, ({ event }) => event.messageType],
  ['occurred_at', TIME, ({ event }) => new Date(event.occurredAt)],
  ['received_at', TIME, ({ event }) => new Date(event.receivedAt)],
  ['owner_id', NUMBER, ({ event }) => bigintOrNull(event.ownerId)],
  ['org_id', NUMBER, ({ event }) => bigintOrNull(event.orgId)],
  ['origin', TEXT, ({ event }) => event.origin],
  ['event', TEXT, ({ text }) => text],
];

const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: COLUMNS.length },
  ...COLUMNS.map(([name, type]) => ({ name, ...type, repetition_type: 'OPTIONAL' as const })),
];

/** Rows that are encoded without a pause: 5 ms. */
const ROWS_PER_GROUP = 500;

/** Writes messages as a Parquet file, compressed with Snappy. */
async function toParquet(messages: readonly Message[]): Promise<Buffer> {
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: SCHEMA });
  for (let from = 0; from < messages.length; from += ROWS_PER_GROUP) {
    const group = messages.slice(from, from + ROWS_PER_GROUP);
    const columnData = COLUMNS.map(([name, , read]) => ({
      name,
      data: group.map(read),
      ...(name === 'event' && { statistics: false }),
    }));
    await file.write({ columnData, rowGroupSize: ROWS_PER_GROUP });
    await nextTurn();
  }
  await file.finish();
  return Buffer.from(writer.getBuffer());
}
