import { z } from 'zod';

/** The longest rule, in characters. The texts that it is applied to can be of any length. */
const MAX_RULE_LENGTH = 64;

const memberPattern = z
  .string()
  .max(MAX_RULE_LENGTH, `must be at most ${MAX_RULE_LENGTH} characters`)
  .regex(/^\*?(?=.*[\p{L}\p{N}])[\p{L}\p{N}_.\- ]+\*?$/u, 'must be a name such as psk or *password*');

const secretWords = z
  .string()
  .max(MAX_RULE_LENGTH, `must be at most ${MAX_RULE_LENGTH} characters`)
  .regex(/^[\p{L}\p{N}]+(?:[ _-][\p{L}\p{N}]+)*:?$/u, 'must be words such as shared secret or key:');

/**
 * What to hide before an event is forwarded. Neither list accepts regular expressions, with which one setting and one
 * hostile text could stop the forwarder. Both forms here are searched in time linear to the text.
 */
export const redactionRulesSchema = z.strictObject({
  /**
   * Names of members and columns, in any case and with or without `_`, `-`, `.` and spaces; a `*` at either end matches
   * anything. Everything inside such a member is hidden.
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
   * Words in a text that are followed by a secret, after `:`, `=`, `is` or only a space. For words that end with a
   * colon, the space alone is not enough: "token: x" contains a secret, "token expired" does not.
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

/** Names come from senders too, so the cache is limited to short ones and in number. */
const MAX_CACHED_NAMES = 4096;
const MAX_CACHED_LENGTH = 64;

/** Creates the test whether a member's name means a secret. Caches the results: the same names come in every event. */
export function secretNameTest(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.length === 0) return () => false;
  const alternatives = patterns.map((pattern) => {
    const name = plainName(pattern).replaceAll('*', '');
    return `${pattern.startsWith('*') ? '' : '^'}${name}${pattern.endsWith('*') ? '' : '$'}`;
  });
  const secret = new RegExp(alternatives.join('|'), 'u');
  const cache = new Map<string, boolean>();
  return (name) => {
    const cached = cache.get(name);
    if (cached !== undefined) return cached;
    const isSecret = secret.test(plainName(name));
    if (cache.size < MAX_CACHED_NAMES && name.length <= MAX_CACHED_LENGTH) cache.set(name, isSecret);
    return isSecret;
  };
}
