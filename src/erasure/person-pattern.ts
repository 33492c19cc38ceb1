import type { Person } from './refusals.ts';

/**
 * A regular expression of Postgres, for any case, that finds a person in the text of a JSON value: names as whole words,
 * MAC addresses and phone numbers in any notation. Undefined for nobody.
 */
export function personPattern({ users, macs, phones }: Person): string | undefined {
  const patterns = [...users.map(userPattern), ...macs.map(macPattern), ...phones.map(phonePattern)];
  return patterns.length === 0 ? undefined : patterns.join('|');
}

/** In JSON, a letter after a backslash is an escape and no part of the word that follows. */
function userPattern(name: string): string {
  const inJson = JSON.stringify(name).slice(1, -1);
  const literal = inJson.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return String.raw`(?:(?<![\w.@+-])|(?<=\\[bfnrt]))${literal}(?![\w@-]|\.\w)`;
}

function macPattern(mac: string): string {
  const pairs = mac.replaceAll(/[^\da-f]/gi, '').match(/../g) ?? [];
  return `(?<![0-9a-f])${pairs.join('[:.-]?')}(?![0-9a-f])`;
}

function phonePattern(phone: string): string {
  const digits = phone.replaceAll(/\D/g, '').replace(/^00/, '');
  return `(?<![1-9])${digits.split('').join('[ ./()-]*')}(?![0-9])`;
}
