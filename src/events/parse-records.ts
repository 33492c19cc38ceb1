import { elementTexts, memberTexts, parseElements, parseExactJson } from './exact-json.ts';

/** The largest record, without observations that become rows of their own. What is longer has one list of these. */
export const MAX_RECORD_BYTES = 2 * 1024 * 1024;

/** Characters of observations that are parsed at a time. */
const MAX_PIECE = 512 * 1024;

/**
 * The records in the text of a JSON array, with exact numbers, one by one. `lists` are the members whose elements become
 * events of their own: a long record comes as several, each with some of these elements, which make the same events.
 * Throws a SyntaxError, possibly after some records, when the text is not an array.
 */
export function* parseRecords(text: string, lists: readonly string[]): Generator {
  if (lists.length === 0 || text.length <= MAX_RECORD_BYTES) {
    yield* parseElements(text);
    return;
  }
  for (const record of elementTexts(text)) {
    if (record.length <= MAX_RECORD_BYTES) yield parseExactJson(record);
    else for (const piece of piecesOf(record, lists)) yield parseExactJson(piece);
  }
}

function* piecesOf(record: string, lists: readonly string[]): Generator<string> {
  const filled = new RegExp(String.raw`^\s*"(?:${lists.join('|')})"\s*:\s*(?=\[\s*[^\]\s])`);
  const members = [...memberTexts(record)];
  const at = members.findIndex((member) => filled.test(member));
  const list = members[at];
  if (list === undefined) {
    yield record;
    return;
  }
  const [name = ''] = filled.exec(list) ?? [];
  const around = (elements: readonly string[]) =>
    `{${members.with(at, `${name}[${elements.join(',')}]`).join(',')}}`;
  let piece: string[] = [];
  let length = 0;
  for (const element of elementTexts(list.slice(name.length))) {
    piece.push(element);
    length += element.length;
    if (length < MAX_PIECE) continue;
    yield around(piece);
    piece = [];
    length = 0;
  }
  if (piece.length > 0) yield around(piece);
}
