import { z } from 'zod';
import { OutageError } from '../../errors.ts';
import type { Answer, HttpEndpoint } from './http-endpoint.ts';

/** The body of a good answer, checked. Throws OutageError when it is not what was asked for. */
export function readJsonAnswer<Schema extends z.ZodType>(
  schema: Schema,
  answer: Answer,
  { name }: HttpEndpoint,
): z.output<Schema> {
  const parsed = schema.safeParse(jsonOrNothing(answer.text));
  if (parsed.success) return parsed.data;
  throw new OutageError(
    `${name} answered ${answer.status} with an unexpected body: ${z.prettifyError(parsed.error)}`,
  );
}

/** A text's JSON value, undefined where it is none. */
export function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
