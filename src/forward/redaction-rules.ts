import { z } from 'zod';

/** The longest rule; what a rule is tried on is as long as a sender likes. */
const MAX_RULE_LENGTH = 64;

const memberPattern = z
  .string()
  .max(MAX_RULE_LENGTH, `takes at most ${MAX_RULE_LENGTH} characters`)
  .regex(
    /^\*?[\p{L}\p{N}_.\- ]*[\p{L}\p{N}][\p{L}\p{N}_.\- ]*\*?$/u,
    'takes a name such as psk or *password*',
  );

const secretWords = z
  .string()
  .max(MAX_RULE_LENGTH, `takes at most ${MAX_RULE_LENGTH} characters`)
  .regex(/^[\p{L}\p{N}]+(?:[ _-][\p{L}\p{N}]+)*:?$/u, 'takes words such as shared secret or key:');

/**
 * What to hide before an event leaves. Neither list takes regular expressions: these would let one setting and one
 * hostile text stop the forwarder, whereas both forms here are searched in time linear to the text.
 */
export const redactionRulesSchema = z.strictObject({
  /**
   * Members and columns by name, in any case and with or without `_`, `-`, `.` and blanks; a `*` at either end stands
   * for anything. Everything inside such a member is hidden.
   */
  members: z
    .array(memberPattern)
    .default([
      '*password*',
      '*passwd*',
      '*passphrase*',
      '*passcode*',
      'pwd',
      'psk',
      'ppsk',
      'pin',
      '*secret*',
      '*token*',
      '*key',
      '*keys',
      '*key value',
      '*private key*',
      '*community string*',
      'authorization',
      'cookie',
    ]),
  /**
   * Words in a text that a secret follows: after `:`, `=`, `is`, or a blank alone. Words that end with a colon need
   * more than the blank: a token is a secret in "token: x" and none in "token expired".
   */
  texts: z
    .array(secretWords)
    .default([
      'password',
      'passwd',
      'passphrase',
      'passcode',
      'pwd',
      'secret',
      'pre shared key',
      'shared key',
      'private key',
      'api key',
      'access key',
      'bearer',
      'psk:',
      'ppsk:',
      'pin:',
      'key:',
      'key value:',
      'token:',
      'community string:',
      'authorization:',
    ]),
});

export type RedactionRules = z.output<typeof redactionRulesSchema>;

export const DEFAULT_REDACTION_RULES: RedactionRules = redactionRulesSchema.parse({});

const plainName = (name: string) => name.toLowerCase().replaceAll(/[_\-. ]/g, '');

/** Names come from senders too, so only short ones are remembered, and so many of them. */
const MAX_CACHED_NAMES = 4096;
const MAX_CACHED_LENGTH = 64;

/** Whether the member of a name is to be hidden. Remembers what it found: an event has the names of the one before. */
export function secretNameTest(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.length === 0) return () => false;
  const alternatives = patterns.map((pattern) => {
    const name = plainName(pattern).replaceAll('*', '');
    return `${pattern.startsWith('*') ? '' : '^'}${name}${pattern.endsWith('*') ? '' : '$'}`;
  });
  const secret = new RegExp(alternatives.join('|'), 'u');
  const known = new Map<string, boolean>();
  return (name) => {
    const remembered = known.get(name);
    if (remembered !== undefined) return remembered;
    const isSecret = secret.test(plainName(name));
    if (known.size < MAX_CACHED_NAMES && name.length <= MAX_CACHED_LENGTH) known.set(name, isSecret);
    return isSecret;
  };
}
