import { revealHidden } from '../../../src/lib/text/hidden-characters.ts';
import { expect } from 'vitest';

/** What a receiver reads of a line: the header's fields, and the values by key. */
interface Line {
  readonly header: readonly string[];
  readonly values: ReadonlyMap<string, string>;
}

/** Reads CEF by its rules, one character after the other. */
export function readCef(line: string): Line {
  const header: string[] = [];
  let field = '';
  let at = 0;
  for (; at < line.length && header.length < 7; at += 1) {
    const character = line.charAt(at);
    if (character === '\\') field += line.charAt((at += 1));
    else if (character === '|') {
      header.push(field);
      field = '';
    } else field += character;
  }
  return { header, values: readCefExtension(line.slice(at)) };
}

/** A key is what stands between the last blank and an equals sign that is not escaped. */
function readCefExtension(extension: string): Map<string, string> {
  const values = new Map<string, string>();
  let key = '';
  let value = '';
  let lastBlank = -1;
  for (let at = 0; at < extension.length; at += 1) {
    const character = extension.charAt(at);
    if (character === '\\') {
      const escaped = extension.charAt((at += 1));
      value += escaped === 'n' ? '\n' : escaped === 'r' ? '\r' : escaped;
    } else if (character === '=') {
      if (key !== '') put(values, key, value.slice(0, lastBlank));
      key = value.slice(lastBlank + 1);
      value = '';
      lastBlank = -1;
    } else {
      if (character === ' ') lastBlank = value.length;
      value += character;
    }
  }
  return put(values, key, value);
}

/** Reads LEEF by its rules. */
export function readLeef(line: string): Line {
  const header: string[] = [];
  let rest = line;
  for (let count = 0; count < 6; count += 1) {
    const end = rest.indexOf('|');
    header.push(rest.slice(0, end));
    rest = rest.slice(end + 1);
  }
  const values = new Map<string, string>();
  for (const pair of rest.split(header[5] ?? '')) {
    const equals = pair.indexOf('=');
    put(values, pair.slice(0, equals), pair.slice(equals + 1));
  }
  return { header, values };
}

function put(values: Map<string, string>, key: string, value: string): Map<string, string> {
  expect(key).toMatch(/^[A-Za-z0-9]+$/);
  expect(values.has(key), `${key} twice`).toBe(false);
  return values.set(key, value);
}

const isControl = (character: string) => /[\p{Cc}\u2028\u2029]/u.test(character);

/** What arrives of a text: no control characters, in CEF the line breaks, and hidden characters as their numbers. */
export const arriving = (value: string, kept: string) =>
  Array.from(value.toWellFormed())
    .map((character) => (isControl(character) && !kept.includes(character) ? ' ' : character))
    .join('')
    .split(/([\r\n])/)
    .map((part) => (kept.includes(part) ? part : revealHidden(part)))
    .join('');
