import { documentNote, isNoteOf, parseVerifier, signNote, type LogKey } from './signed-note.ts';

/*
 * A document of HTML with a note at its end, as a comment, that a key of the log has signed: what stands before the comment
 * is what was signed.
 */

const BEGIN = '\n<!--\n';
const END = '-->\n';

/** Signs a document. `name` says what it is, such as `certificate 2026-03`. */
export function signDocument(document: string, name: string, key: LogKey): string {
  return `${document}${BEGIN}${signNote(documentNote(key.name, name, document), key)}${END}`;
}

const PUBLIC_KEY = /xiq-sink\/[\w-]+\+[\da-f]{8}\+[\w+/=]+/g;

/**
 * Checks the signature of a document. Without keys that count, those that the document names do, which a person compares.
 * Returns what it says to be, and the key. Throws a TypeError with the reason if it is not as it was signed.
 */
export function readSignedDocument(text: string, keys: readonly string[]) {
  const at = text.lastIndexOf(BEGIN);
  if (at < 0 || !text.endsWith(END)) throw new TypeError('it has no signature at its end');
  const [document, note] = [text.slice(0, at), text.slice(at + BEGIN.length, -END.length)];
  const [origin = '', name = ''] = note.split('\n');
  const signed = documentNote(origin, name, document);
  if (!note.startsWith(`${signed}\n`)) {
    throw new TypeError('it was changed after it was signed');
  }
  const known = keys.length > 0 ? keys : [...new Set(document.match(PUBLIC_KEY))];
  const publicKey = known.find((key) => isNoteOf(note, signed, parseVerifier(key)));
  if (publicKey === undefined) {
    throw new TypeError(
      keys.length > 0 ? 'it is signed with another key' : 'none of the keys that it names has signed it',
    );
  }
  return { name, publicKey };
}
