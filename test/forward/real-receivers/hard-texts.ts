import type { Message } from '../../../src/forward/sender.ts';
import { storedEvent } from '../senders/messages.ts';
import type { FormatUnderTest } from './formats-under-test.ts';

/** Texts that are hard to carry: as JSON, as a line of syslog, or within structured data. */
const HARD_TEXTS = [
  'plain',
  'two\nlines\r\nand a\ttab',
  String.raw`pipe | equals = backslash \ bracket ] quote " apostrophe '`,
  '[xiq@32473 event_id="forged"] <34>1 2026',
  'Grüße, 東京, 🚀👩‍👩‍👧',
  '',
  '  spaces around  ',
];

/** The description of an event by its number: one of the hard texts, each hundredth of 60 kB where `large`. */
export function hardText(index: number, large: boolean): string {
  const text = `${index} ${HARD_TEXTS[index % HARD_TEXTS.length]} .`;
  return large && index % 100 === 99 ? text.padEnd(60_000, 'ü') : text;
}

/** How many messages of `hardMessages` have been made. */
let used = 0;

/** Messages whose descriptions are hard to carry, each with a number that no other one has. */
export const hardMessages = (count: number, { write }: FormatUnderTest, large: boolean): Message[] =>
  Array.from({ length: count }, (_, index) => {
    const event = storedEvent(used++, hardText(index, large));
    return { event, text: write(event) };
  });
