import { setImmediate } from 'node:timers/promises';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Message } from '../sender.ts';

const bigintOrNull = (value: string | number | null | undefined) =>
  value === null || value === undefined ? null : BigInt(value);

type Type = Pick<SchemaElement, 'type' | 'converted_type'>;

const NUMBER: Type = { type: 'INT64' };
const TEXT: Type = { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
const TIME: Type = { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' };

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
export async function toParquet(messages: readonly Message[]): Promise<Buffer> {
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
    await setImmediate();
  }
  await file.finish();
  return Buffer.from(writer.getBuffer());
}
