import { MESSAGE_TYPES } from '../../events/domain.ts';
import { FIELDS, type FieldKind } from '../../events/message-types.ts';
import { envelopeColumns } from '../../events/stored-event.ts';
import type { Format } from '../sender.ts';
import { verbatim, decimal, json, time, truth, type Reading } from './readings.ts';

/** An int64 stays a string, because most JSON readers would round it. */
const READINGS: Partial<Record<FieldKind, Reading>> = {
  boolean: truth,
  'double precision': decimal,
  timestamptz: time,
  jsonb: json,
};

const COLUMNS = new Map(
  MESSAGE_TYPES.map((messageType) => [
    messageType,
    FIELDS[messageType].map(({ column, kind }) => [column, READINGS[kind] ?? verbatim] as const),
  ]),
);

/** Our own format: the envelope, every typed column of the message type (null if not recorded), and the payload. */
export const formatJson: Format = (event) => {
  const columns: Record<string, unknown> = {};
  for (const [column, reading] of COLUMNS.get(event.messageType) ?? []) {
    const value = event.columns[column] ?? null;
    columns[column] = value === null ? null : (reading(value) ?? null);
  }
  return JSON.stringify({
    ...envelopeColumns(event),
    ...columns,
    payload: event.payload,
  });
};
