import { z } from 'zod';
import { nestedPageSchema } from '../../src/cloud/contract/shared.ts';
import type { Caller } from '../access/tokens.ts';
import { invalidRequest, unauthenticated } from './errors.ts';
import type { Operations, Work } from './operations.ts';
import { queryBoolean } from './query.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The permissions of which a caller needs one; `public` for all callers; or `control` for all callers, even during a simulated outage. */
type Access = readonly string[] | 'public' | 'control';

/** A successful answer. */
export interface Success {
  status: 200 | 201 | 202 | 204;
  description: string;
  /** Undefined for an answer without a body. */
  schema?: z.ZodType;
  /** The items of an answer with one page of a list. */
  item?: z.ZodType;
}

/** The parts of a request, unchecked. */
interface RequestParts {
  params: Readonly<Record<string, unknown>>;
  query: unknown;
  body: unknown;
  /** Undefined if the route needs no token. */
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
  /** Members: path parameters by name, `query`, `body`. */
  input: Input;
  /** An empty 200 if undefined. */
  success?: Success;
  /** Whether the call creates a resource. */
  creates?: boolean;
  /** The media type of the request body. JSON if undefined. */
  mediaType?: 'application/json' | 'text/plain';
}

/** One operation of the API. The same schemas read its requests and describe it. */
export interface Route extends Description<z.ZodObject> {
  success: Success;
  method: Method;
  /** With `{name}` for a path parameter. */
  path: string;
  summary: string;
  access: Access;
  longRunning: boolean;
  answer(parts: RequestParts): Reply;
}

/** A group of routes, as the description of the API shows them. */
export interface TaggedRoute extends Route {
  tag: string;
}

/** Puts routes into a group of the description. */
export function tagged(tag: string, routes: readonly Route[]): TaggedRoute[] {
  return routes.map((each) => ({ ...each, tag }));
}

/** The input of a route that reads the caller only. */
export const noInput = z.object({});

/** An answer with one object. */
export function object(schema: z.ZodType, status: Success['status'] = 200): Success {
  return { status, description: 'One object', schema };
}

/** An answer with an array, without paging information. */
export function array(item: z.ZodType): Success {
  return { status: 200, description: 'An array', schema: z.array(item) };
}

/** An answer with one page of a list. */
export function page(item: z.ZodType): Success {
  return { status: 200, description: 'One page', schema: nestedPageSchema(item), item };
}

/** An answer without a body. */
export function empty(status: Success['status'] = 200): Success {
  return { status, description: 'Done, without a body' };
}

/** A route without a token. */
export function openRoute<Input extends z.ZodObject>(
  method: Method,
  path: string,
  summary: string,
  description: Description<Input> & {
    access: 'public' | 'control';
    handle: (input: z.output<Input>) => unknown;
  },
): Route {
  const { input, success = empty(), handle } = description;
  const answer = (parts: RequestParts) => replyWith(success, handle(read(input, parts)));
  return { ...description, method, path, summary, success, longRunning: false, answer };
}

/** A route for callers with one of these permissions. */
export function route<Input extends z.ZodObject>(
  method: Method,
  path: string,
  summary: string,
  description: Description<Input> & {
    access: readonly string[];
    handle: (input: z.output<Input>, caller: Caller) => unknown;
  },
): Route {
  const { input, success = empty(), handle } = description;
  const answer = (parts: RequestParts) => replyWith(success, handle(read(input, parts), callerOf(parts)));
  return { ...description, method, path, summary, success, longRunning: false, answer };
}

/** The query parameter of calls that can run as long-running operations. */
export const asyncQuery = z.object({ async: queryBoolean.default(false) });

const asyncInput = z.object({ query: asyncQuery });
const RETRY_AFTER_S = 1;

/**
 * A route that accepts `async` (specification, Asynchronous mode): `begin` checks the request and returns the work. The
 * work is done at once, or becomes a long-running operation.
 */
export function longRunningRoute<Input extends z.ZodObject>(
  operations: Operations,
  method: Method,
  path: string,
  summary: string,
  description: Description<Input> & {
    access: readonly string[];
    begin: (input: z.output<Input>, caller: Caller) => Work;
  },
): Route {
  const { input, success = empty(), begin } = description;
  function answer(parts: RequestParts): Reply {
    const isAsync = read(asyncInput, parts).query.async;
    const work = begin(read(input, parts), callerOf(parts));
    if (!isAsync) return replyWith(success, work.run());
    const location = parts.operationUrl(operations.start(work));
    return { status: 202, headers: { Location: location, 'Retry-After': String(RETRY_AFTER_S) } };
  }
  return { ...description, method, path, summary, success, longRunning: true, answer };
}

/**
 * Routes in the order in which they are matched: literal segments before parameters, so that `/users/me` is not read as
 * the user `me`. In code units, `{` comes after every letter.
 */
export function inMatchingOrder<T extends Route>(routes: readonly T[]): T[] {
  return [...routes].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The route that serves a call. `uri` is a path, which may contain `{name}`, or a whole URL. */
export function findRoute(routes: readonly Route[], method: string, uri: string): Route | undefined {
  const path = uri.replace(/^https?:\/\/[^/]+/, '').replace(/[?#].*$/, '');
  return inMatchingOrder(routes).find(
    (each) =>
      each.method === method.toUpperCase() &&
      new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
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
