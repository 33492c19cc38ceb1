import { isJsonObject, isRawNumber, parseExactJson, type JsonObject } from '../exact-json.ts';
import { createTextRedaction, REDACTED } from './redact-text.ts';
import { secretNameTest, type RedactionRules } from './redaction-rules.ts';
import type { StoredEvent } from '../store/stored-event.ts';

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
