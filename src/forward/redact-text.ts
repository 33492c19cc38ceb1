/** What stands in the place of a secret. */
export const REDACTED = '[redacted]';

/**
 * A kind of secret in a text: what comes before it, and where it ends. The pattern's repetitions are all bounded and
 * the end is found by walking, so that a text costs time in proportion to its length, and a text of megabytes does
 * not exhaust the stack on which the expression engine keeps what it may come back to.
 */
interface Secret {
  /** Its first group stays; the secret begins behind that. */
  readonly before: RegExp;
  /** The index behind the secret. */
  readonly endOf: (text: string, start: number) => number;
}

/**
 * Makes what hides the secrets of a text: what follows these words (redaction-rules.ts, `texts`), and always private
 * keys in PEM and JSON Web Tokens.
 */
export function createTextRedaction(words: readonly string[]): (text: string) => string {
  const told = words.length === 0 ? [] : [{ before: wordsBefore(words), endOf: endOfValue }];
  const secrets: readonly Secret[] = [PEM_KEY, ...told, WEB_TOKEN];
  return (text) => secrets.reduce(hide, text);
}

function hide(text: string, { before, endOf }: Secret): string {
  let hidden = '';
  let copied = 0;
  before.lastIndex = 0;
  for (let match = before.exec(text); match !== null; match = before.exec(text)) {
    const start = match.index + (match[1]?.length ?? 0);
    const end = endOf(text, start);
    if (end === start) continue;
    hidden += text.slice(copied, start) + REDACTED;
    copied = end;
    before.lastIndex = end;
  }
  return copied === 0 ? text : hidden + text.slice(copied);
}

const PEM_KEY: Secret = {
  before: /()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g,
  endOf: (text, start) => {
    const end = text.indexOf('-----END', start);
    const last = end < 0 ? -1 : text.indexOf('-----', end + '-----END'.length);
    return last < 0 ? text.length : last + '-----'.length;
  },
};

/** It begins where no such run goes on, so that no run is walked twice. */
const WEB_TOKEN: Secret = {
  before: /()(?<![\w.-])eyJ[\w-]/g,
  endOf: (text, start) => {
    const end = indexFrom(text, /[^\w.-]/g, start);
    return text.slice(start, end).includes('.') ? end : start;
  },
};

/** Words behind "password " or "password is " that are no password. */
const ORDINARY =
  'a|an|and|are|as|at|by|can|cannot|change|changed|changes|created|deleted|disabled|does|enabled|expired|expires|' +
  'failed|for|from|has|have|in|incorrect|invalid|is|not|of|on|or|policy|removed|required|reset|server|set|that|the|' +
  'to|updated|was|were|will|with|wrong';

const NOT_ORDINARY = String.raw`(?!(?:${ORDINARY})(?:[\s.,;:!?)]|$))`;

/** The quote that closes a member's name, perhaps escaped because the JSON stands in a text. */
const CLOSE = String.raw`\\{0,4}["']?`;
const LINK = String.raw`(?:(?:(?:is|was|has\sbeen)\s)?(?:set|reset|changed|updated)\sto|is|was)`;
const SIGN = String.raw`${CLOSE}\s{0,8}(?:=>|->|[:=])\s{0,8}`;
const VERB = String.raw`${CLOSE}\s{1,8}${LINK}\s{1,8}${NOT_ORDINARY}`;
const BLANK = String.raw`${CLOSE}\s{1,8}${NOT_ORDINARY}`;
const SCHEME = String.raw`(?:(?:basic|bearer)\s{1,8})?`;

function wordsBefore(words: readonly string[]): RegExp {
  const alternatives = words.map((phrase) => {
    const spelled = phrase.replace(/:$/, '').replaceAll(/[ _-]/g, String.raw`[\s_-]?`);
    return phrase.endsWith(':')
      ? String.raw`${spelled}${SIGN}|(?<![a-z])${spelled}${VERB}`
      : String.raw`${spelled}(?:\w{0,16}${SIGN}|${VERB}|${BLANK})`;
  });
  return new RegExp(`((?:${alternatives.join('|')})${SCHEME})`, 'gi');
}

/** A quoted text, to the end where the quote stays open; else up to white space. */
function endOfValue(text: string, from: number): number {
  const start = indexFrom(text, /\S/g, from);
  const quote = indexFrom(text, /[^\\]/g, start);
  if (text[quote] === '"') return endOfQuoted(text, quote + 1);
  if (text[start] !== "'") return indexFrom(text, /\s/g, start);
  const closing = text.indexOf("'", start + 1);
  return closing < 0 ? text.length : closing + 1;
}

function endOfQuoted(text: string, start: number): number {
  for (let index = start; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '"') return index + 1;
  }
  return text.length;
}

/** Where the pattern first matches from an index on, else the text's end. */
function indexFrom(text: string, pattern: RegExp, start: number): number {
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? text.length;
}
