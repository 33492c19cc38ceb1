import { isJsonObject, isRawNumber, parseExactJson, type JsonObject } from '../events/exact-json.ts';
import { secretNameTest, type RedactionRules } from './redaction-rules.ts';
import type { StoredEvent } from '../events/stored-event.ts';

/** A delivery nests at most 200 levels; JSON inside texts may add some. Anything deeper is hidden unread. */
const MAX_DEPTH = 256;

const JSON_BEGINS = /^["[{]/;

/**
 * Creates a function that hides the secrets of an event in typed columns and payload: members with secret names, values
 * after announcing words, both also in JSON inside texts; private keys and JSON Web Tokens always. Everything else
 * stays unchanged; an event without secrets keeps the same payload object.
 */
export function createRedaction(rules: RedactionRules): (event: StoredEvent) => StoredEvent {
  const isSecretName = secretNameTest(rules.members);
  const redactPlainText = createTextRedaction(rules.texts);

  function redactValue(value: unknown, isHidden: boolean, depth: number): unknown {
    if (typeof value === 'string') return isHidden ? REDACTED : redactText(value, depth);
    if (typeof value === 'number' || isRawNumber(value)) return isHidden ? REDACTED : value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return REDACTED;
    if (Array.isArray(value)) return redactArray(value, isHidden, depth);
    return isJsonObject(value) ? redactObject(value, isHidden, depth) : value;
  }

  function redactArray(array: readonly unknown[], isHidden: boolean, depth: number): readonly unknown[] {
    const redacted = array.map((element) => redactValue(element, isHidden, depth + 1));
    return redacted.some((element, index) => element !== array[index]) ? redacted : array;
  }

  function redactObject(object: JsonObject, isHidden: boolean, depth: number): JsonObject {
    let copy: Record<string, unknown> | undefined;
    for (const name of Object.keys(object)) {
      const redacted = redactValue(object[name], isHidden || isSecretName(name), depth + 1);
      if (redacted === object[name]) continue;
      copy ??= { ...object };
      copy[name] = redacted;
    }
    return copy ?? object;
  }

  function redactText(text: string, depth: number): string {
    return redactJsonText(text, depth) ?? redactPlainText(text);
  }

  /** Hides the secrets in a JSON text, which stays unchanged without any. Undefined if the text is not JSON. */
  function redactJsonText(text: string, depth: number): string | undefined {
    if (!JSON_BEGINS.test(text.trimStart())) return undefined;
    let value: unknown;
    try {
      value = parseExactJson(text);
    } catch {
      return undefined;
    }
    const redacted = redactValue(value, false, depth + 1);
    return redacted === value ? text : JSON.stringify(redacted);
  }

  function redactColumns(columns: StoredEvent['columns']): StoredEvent['columns'] {
    const redacted: Record<string, string | readonly string[] | null> = {};
    for (const [name, value] of Object.entries(columns)) {
      const hide = isSecretName(name) ? () => REDACTED : (text: string) => redactText(text, 0);
      redacted[name] = typeof value === 'string' ? hide(value) : (value?.map(hide) ?? null);
    }
    return redacted;
  }

  return (event) => ({
    ...event,
    columns: redactColumns(event.columns),
    payload: redactObject(event.payload, false, 0),
  });
}

const REDACTED = '[redacted]';

/**
 * A kind of secret in a text: the pattern before it, and where it ends. All repetitions of the pattern are bounded and
 * the end is found by walking. So the time is linear to the length of the text, and a text of megabytes does not
 * exhaust the backtracking stack of the expression engine.
 */
interface Secret {
  /** The first group stays; the secret begins after it. */
  readonly before: RegExp;
  readonly endOf: (text: string, start: number) => number;
}

/**
 * Creates a function that hides the secrets in a text: the values after these words (redaction-rules.ts, `texts`), and
 * always private keys in PEM form and JSON Web Tokens.
 */
function createTextRedaction(words: readonly string[]): (text: string) => string {
  const announced = words.length === 0 ? [] : [{ before: wordsBefore(words), endOf: endOfValue }];
  const secrets: readonly Secret[] = [PEM_KEY, ...announced, WEB_TOKEN];
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

/** Begins only at the start of a run of such characters, so that no run is walked twice. */
const WEB_TOKEN: Secret = {
  before: /()(?<![\w.-])eyJ[\w-]/g,
  endOf: (text, start) => {
    const end = indexFrom(text, /[^\w.-]/g, start);
    return text.slice(start, end).includes('.') ? end : start;
  },
};

/** Words after "password " or "password is " that are not a password. */
const ORDINARY =
  'a|an|and|are|as|at|by|can|cannot|change|changed|changes|created|deleted|disabled|does|enabled|expired|expires|' +
  'failed|for|from|has|have|in|incorrect|invalid|is|not|of|on|or|policy|removed|required|reset|server|set|that|the|' +
  'to|updated|was|were|will|with|wrong';

const NOT_ORDINARY = String.raw`(?!(?:${ORDINARY})(?:[\s.,;:!?)]|$))`;

/** The quote that closes a member's name, possibly escaped because the JSON is inside a text. */
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

/** The end of a quoted text, or of the whole text if the quote is never closed; otherwise the next white space. */
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

function indexFrom(text: string, pattern: RegExp, start: number): number {
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? text.length;
}
