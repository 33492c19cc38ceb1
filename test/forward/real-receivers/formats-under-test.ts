import { z } from 'zod';
import { createFormat, type FormatName } from '../../../src/forward/formats/formats.ts';
import { cut } from '../../../src/forward/formats/line-formats.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';
import type { Format } from '../../../src/forward/sender.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { arriving, readCef, readLeef } from '../formats/read-lines.ts';

/** A format with what reads it again: what a SIEM behind the receiver would see. */
export interface FormatUnderTest {
  readonly name: string;
  readonly write: Format;
  /** The fields that the text has, and those that it should have. */
  read(text: string): unknown;
  expected(event: StoredEvent): unknown;
  /** Whether a message may have line feeds inside, which only octet counting and datagrams can carry. */
  readonly isOneLine: boolean;
}

const formatOf = (name: FormatName) => createFormat(name, DEFAULT_REDACTION_RULES);

/** What is compared: enough to know the event by, and the text that is hard to carry. */
interface Fields {
  readonly eventId: string | undefined;
  readonly code: string | undefined;
  readonly time: number;
  readonly description: string | undefined;
}

const JsonEvent = z.object({
  event_id: z.string(),
  code: z.string(),
  occurred_at: z.string(),
  description: z.string(),
});

/** The fields of the stored event, its text as it arrives. */
const stored = (
  { eventId, occurredAt, columns }: StoredEvent,
  arrivingText: (text: string) => string,
): Fields => ({
  eventId,
  code: String(columns['code']),
  time: Date.parse(occurredAt),
  description: arrivingText(String(columns['description'])),
});

export const FORMATS_UNDER_TEST: readonly FormatUnderTest[] = [
  {
    name: 'JSON',
    isOneLine: true,
    write: formatOf('json'),
    read(text): Fields {
      const { event_id, code, occurred_at, description } = JsonEvent.parse(JSON.parse(text));
      return { eventId: event_id, code, time: Date.parse(occurred_at), description };
    },
    expected: (event) => stored(event, (text) => text),
  },
  {
    name: 'CEF',
    isOneLine: true,
    write: formatOf('cef'),
    read(text): Fields {
      const { header, values } = readCef(text);
      const time = Number(values.get('rt'));
      return { eventId: values.get('externalId'), code: header[4], time, description: values.get('msg') };
    },
    expected: (event) => stored(event, (text) => arriving(cut(text, 1_023), '\r\n')),
  },
  {
    name: 'LEEF',
    isOneLine: true,
    write: formatOf('leef'),
    read(text): Fields {
      const { header, values } = readLeef(text);
      const time = Number(values.get('devTime'));
      return { eventId: values.get('eventId'), code: header[4], time, description: values.get('msg') };
    },
    expected: (event) => stored(event, (text) => arriving(text, '').replaceAll('^', '')),
  },
  {
    name: 'text as it is',
    isOneLine: false,
    write: ({ columns }) => String(columns['description']),
    read: (text) => text,
    expected: ({ columns }) => columns['description'],
  },
];
