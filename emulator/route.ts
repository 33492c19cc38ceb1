import { z } from 'zod';
import { nestedPageSchema } from '../src/cloud/contract/shared.ts';
import { invalidRequest, unauthenticated } from './api-error.ts';
import type { Operations, Work } from './operations.ts';
import { queryBoolean } from './query.ts';
import type { Caller } from './tokens.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: holders of any one of these permissions, anybody, or anybody even while the API refuses its calls. */
type Access = readonly string[] | 'anybody' | 'control';

/** What a route answers when all goes well. */
export interface Success {
  status: 200 | 201 | 202 | 204;
  description: string;
  /** Undefined where the answer has no body. */
  schema?: z.ZodType;
}

/** A request as it came, for the route to read. */
interface RequestParts {
  params: Readonly<Record<string, unknown>>;
  query: unknown;
  body: unknown;
  /** Undefined where no token is asked for. */
  caller: Caller | undefined;
  /** The address of an operation, for the header Location. */
  operationUrl(id: string): string;
}

/** An answer ready to be written. */
export interface Reply {
  status: number;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

interface Description<Input extends z.ZodObject> {
  method: Method;
  /** With `{name}` for a path parameter. */
  path: string;
  /** The table or group it belongs to. */
  tag: string;
  summary: string;
  /** Members: path parameters by name, `query`, `body`. */
  input: Input;
  success: Success;
  /** Whether it makes a new resource. */
  creates?: boolean;
  /** The media type of the request body, JSON unless stated. */
  mediaType?: 'application/json' | 'text/plain';
}

/** One operation of the API: what serves it and what describes it come from the same schemas. */
export interface Route extends Description<z.ZodObject> {
  access: Access;
  longRunning: boolean;
  answer(parts: RequestParts): Reply;
}

/** The input of a route that reads nothing but its caller. */
export const noInput = z.object({});

/** One object. */
export function object(schema: z.ZodType, status: Success['status'] = 200): Success {
  return { status, description: 'One object', schema };
}

/** A bare array, without paging information. */
export function array(item: z.ZodType): Success {
  return { status: 200, description: 'An array', schema: z.array(item) };
}

/** One page of a list. */
export function page(item: z.ZodType): Success {
  return { status: 200, description: 'One page', schema: nestedPageSchema(item) };
}

/** No body. */
export function empty(status: Success['status'] = 200): Success {
  return { status, description: 'Done, without a body' };
}

/** A route that anybody may call. */
export function openRoute<Input extends z.ZodObject>(
  description: Description<Input> & {
    access: 'anybody' | 'control';
    handle(input: z.output<Input>): unknown;
  },
): Route {
  return {
    ...description,
    longRunning: false,
    answer: (parts) => replyWith(description.success, description.handle(read(description.input, parts))),
  };
}

/** A route for holders of a permission. */
export function route<Input extends z.ZodObject>(
  description: Description<Input> & {
    access: readonly string[];
    handle(input: z.output<Input>, caller: Caller): unknown;
  },
): Route {
  return {
    ...description,
    longRunning: false,
    answer: (parts) =>
      replyWith(description.success, description.handle(read(description.input, parts), callerOf(parts))),
  };
}

const asyncInput = z.object({ query: z.object({ async: queryBoolean.default(false) }) });
const RETRY_AFTER_S = 1;

/**
 * A route that takes `async` (specification, Asynchronous mode): `begin` checks the request and gives the work, which
 * is done at once, or becomes a long-running operation.
 */
export function longRunningRoute<Input extends z.ZodObject>(
  operations: Operations,
  description: Description<Input> & { access: readonly string[]; begin(input: z.output<Input>): Work },
): Route {
  return {
    ...description,
    longRunning: true,
    answer(parts) {
      const isAsync = read(asyncInput, parts).query.async;
      const work = description.begin(read(description.input, parts));
      if (!isAsync) return replyWith(description.success, work.run());
      const location = parts.operationUrl(operations.start(work));
      return { status: 202, headers: { Location: location, 'Retry-After': String(RETRY_AFTER_S) } };
    },
  };
}

function replyWith({ status, schema }: Success, body: unknown): Reply {
  return schema === undefined ? { status } : { status, body };
}

function read<Input extends z.ZodObject>(
  input: Input,
  { params, query, body }: RequestParts,
): z.output<Input> {
  const result = input.safeParse({ ...params, query, body });
  if (!result.success) throw invalidRequest(result.error);
  return result.data;
}

function callerOf({ caller }: RequestParts): Caller {
  if (caller === undefined) throw unauthenticated('This call needs a bearer token');
  return caller;
}
