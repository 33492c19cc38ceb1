/**
 * Characters that a terminal or a browser does not show, or that change how it shows others: control characters (C0,
 * DEL, C1), format characters (bidirectional controls, joiners, tags), line and paragraph separators, and all others
 * that Unicode calls default ignorable (variation selectors, fillers). With them a stranger could control a terminal,
 * reverse the text of an event, or make two names look alike. Tabs, line feeds and CRLF structure a text and stay, as do
 * the joiners and variation selectors inside emoji.
 */
const HIDDEN =
  /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\t\n]](?<!\r(?=\n))(?<!\p{Extended_Pictographic}\uFE0F)(?<!\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?\u200D(?=\p{Extended_Pictographic}))/gv;

/** Characters that end a line for some receivers or control a terminal. */
export const CONTROL = /[\p{Cc}\u2028\u2029]/gu;

/** Text for a person, possibly of several lines, with hidden characters as `\u202e`. The text cannot be restored from it. */
export const revealHidden = (text: string): string => revealHiddenAs(text, ESCAPE);

/** The same with another beginning than `\u`: for a text whose backslashes are escaped. */
export const revealHiddenAs = (text: string, escape: string): string =>
  text.replaceAll(HIDDEN, (character) => escapeUnits(character, escape));

/** Text for a person on one line: line breaks are blanks, tabs and hidden characters are escaped. */
export function revealOnLine(text: string): string {
  // A pattern of blanks, a line break and blanks takes quadratic time in a long run of blanks.
  const line = text.replaceAll(/\s+/g, (blanks) => (/[\r\n]/.test(blanks) ? ' ' : blanks));
  return revealHidden(line).replaceAll('\t', escapeUnits('\t', ESCAPE));
}

/** JSON text with hidden characters as `\u202e`. It parses to the same value. */
export function escapeHiddenInJson(json: string): string {
  // Outside strings, valid JSON contains none of them except line breaks, and a backslash is never before one.
  return revealHidden(json);
}

const ESCAPE = String.raw`\u`;

/** A character as the escapes of JSON: one, or two for a character beyond U+FFFF. */
function escapeUnits(character: string, escape: string): string {
  return character
    .split('')
    .map((unit) => `${escape}${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
