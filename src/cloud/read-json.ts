import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import type { Answer } from './exchange.ts';
import { parseJson } from './json.ts';

/**
 * The body of a good answer, checked. Throws `CloudApiError` when it is not JSON or lacks a member the contract
 * promises; the message names the members, never their values.
 */
export function readJson<Schema extends z.ZodType>(schema: Schema, answer: Answer): z.output<Schema> {
  const parsed = schema.safeParse(bodyOf(answer));
  if (parsed.success) return parsed.data;
  const { method, path, status } = answer;
  throw new CloudApiError(
    `${method} ${path} answered ${status} with an unexpected body: ${z.prettifyError(parsed.error)}`,
    { method, path, status, cause: parsed.error },
  );
}

function bodyOf({ method, path, status, text }: Answer): unknown {
  try {
    return parseJson(text);
  } catch {
    // The SyntaxError quotes the body, which may hold a token: it is left out on purpose.
    throw new CloudApiError(`${method} ${path} answered ${status} with a body that is not JSON`, {
      method,
      path,
      status,
    });
  }
}
