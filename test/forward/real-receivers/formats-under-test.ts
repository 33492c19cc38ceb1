import type { Format, StoredEvent } from '../../../src/forward/stored-event.ts';
import { jsonLine } from '../senders/messages.ts';

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

export const FORMATS_UNDER_TEST: readonly FormatUnderTest[] = [
  {
    name: 'JSON lines',
    isOneLine: true,
    write: jsonLine,
    read: (text): unknown => JSON.parse(text),
    expected: ({ eventId, columns }) => ({ event_id: eventId, description: columns['description'] }),
  },
  {
    name: 'text as it is',
    isOneLine: false,
    write: ({ columns }) => String(columns['description']),
    read: (text) => text,
    expected: ({ columns }) => columns['description'],
  },
];
