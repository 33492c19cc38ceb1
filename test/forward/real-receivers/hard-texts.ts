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
