import type { Request, Response } from 'express';
import { z } from 'zod';
import { plainProblems } from '../../config/setting-types.ts';
import { closestName } from '../../lib/text/closest-name.ts';
import { ConflictError, describeError, HttpError, UsageError } from '../../lib/errors.ts';
import { askingAbout, type Rule, type Visitor } from '../access/access.ts';
import { queryOf, text } from './parameters.ts';

/** The input of a route: schemas of its path parameters, its query parameters and its JSON body. */
type Input = {
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
};

type ValuesOf<A extends Input> = z.output<z.ZodObject<A>>;

/** The context of a request: who sent it, and whether the answer is still wanted. */
export interface RouteContext extends Omit<Visitor, 'role' | 'session'> {
  readonly signal: AbortSignal;
}

interface Described<A extends Input> extends Rule {
  /** Method and path below /api/v1, parameters in braces: `GET /events/{event_id}`. */
  readonly route: `${'GET' | 'POST'} /${string}`;
  readonly summary: string;
  readonly description?: string;
  /** Undefined: it has none. */
  readonly input?: A | undefined;
}

/** The parts of a request that a route reads. */
export type Asked = Pick<Request, 'params' | 'url' | 'body'>;

/** The schema of a JSON answer and how to get one, or the media types of a streamed answer with a description of each. */
type Answers =
  | {
      readonly kind: 'json';
      readonly schema: z.ZodType;
      readonly ask: (asked: Asked, context: RouteContext) => Promise<unknown>;
    }
  | { readonly kind: 'stream'; readonly mediaTypes: Readonly<Record<string, string>> };

/** A route of the API, for the server and for the OpenAPI document. */
export interface ApiRoute extends Described<Input> {
  readonly answers: Answers;
  readonly serve: (request: Request, response: Response, context: RouteContext) => Promise<void>;
}

/** The method of a route, and its path below /api/v1. */
export function placeOf({ route }: ApiRoute) {
  const [method, path = ''] = route.split(' ');
  return { method: method === 'GET' ? 'get' : 'post', path } as const;
}

/**
 * A route that answers with JSON: exactly what `answer` describes. Members that the schema does not name are left
 * out; any other mismatch is a defect.
 */
export function jsonRoute<A extends Input, Answer extends z.ZodType>(
  route: Described<A> & {
    readonly answer: Answer;
    readonly work: (values: ValuesOf<A>, context: RouteContext) => Promise<z.input<Answer>>;
  },
): ApiRoute {
  const { answer, work, ...described } = route;
  const ask = async (asked: Asked, context: RouteContext) =>
    answer.parse(await work(readStrictly(route, asked), contextOf(route, asked, context)));
  return {
    ...described,
    input: inputOf(described),
    answers: { kind: 'json', schema: answer, ask },
    serve: async (request, response, context) => void response.json(await ask(request, context)),
  };
}

/** A route that changes the thing that its path names, and answers with the name. */
export const changeRoute = (
  route: `POST /${string}/{name}/${string}`,
  summary: string,
  rule: Rule,
  change: (name: string, context: RouteContext) => Promise<unknown>,
): ApiRoute =>
  jsonRoute({
    route,
    summary,
    ...rule,
    input: { path: namePath },
    answer: nameAnswer,
    async work({ path: { name } }, context) {
      await change(name, context);
      return { name };
    },
  });

export const namePath = z.object({ name: text.max(200) });

/** The answer of a route that changes one thing. */
export const nameAnswer = z.object({ name: z.string() });

/** A route that streams its answer and ends it. */
export function streamRoute<A extends Input>(
  route: Described<A> & {
    readonly mediaTypes: Readonly<Record<string, string>>;
    readonly work: (values: ValuesOf<A>, context: RouteContext, response: Response) => Promise<void>;
  },
): ApiRoute {
  const { mediaTypes, work, ...described } = route;
  return {
    ...described,
    input: inputOf(described),
    answers: { kind: 'stream', mediaTypes },
    serve: (request, response, context) =>
      work(readStrictly(route, request), contextOf(route, request, context), response),
  };
}

export const sourceShape = { source: text.optional().describe('only this source (exact match)') };

/** Each question about the data of sources can be asked about one of them. */
const isAboutSource = ({ route, data, input }: Described<Input>) =>
  route.startsWith('GET') && data === 'by source' && input?.path?.shape['source'] === undefined;

const inputOf = (route: Described<Input>): Input | undefined =>
  isAboutSource(route)
    ? { ...route.input, query: (route.input?.query ?? z.object({})).safeExtend(sourceShape) }
    : route.input;

/** The source that the address of a page, or of a question to the API, names. Throws HttpError 400 if it is no text. */
export const sourceIn = (asked: Asked): string | undefined =>
  parseInput({ query: z.object(sourceShape) }, asked).query.source;

const contextOf = (route: Described<Input>, asked: Asked, context: RouteContext) =>
  isAboutSource(route) ? askingAbout(context, sourceIn(asked)) : context;

/**
 * Reads path, query and body. Query parameters that the schema does not name are ignored, as pages do. Throws
 * HttpError 400 that names every invalid part.
 */
export function parseInput<A extends Input>(input: A | undefined, request: Asked): ValuesOf<A>;
export function parseInput(input: Input = {}, request: Asked): ValuesOf<Input> {
  const body: unknown = request.body ?? {};
  const asked = { path: request.params, query: queryOf(request), body };
  const { data, error } = z.object(input).safeParse(asked, plainProblems);
  if (error !== undefined) throw new HttpError(400, 'BAD_REQUEST', describeIssues(error), { cause: error });
  return data;
}

/** The same for a program: a query parameter that the schema does not name is an error, for it is a mistake. */
function readStrictly<A extends Input>(route: Described<A>, request: Asked): ValuesOf<A> {
  const known = Object.keys(inputOf(route)?.query?.shape ?? {});
  const { searchParams } = new URL(request.url, 'http://localhost');
  const unknown = [...new Set(searchParams.keys())].filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const problems = unknown.map((name) => `query.${name}: ${describeUnknown(name, known)}`);
    throw new HttpError(400, 'BAD_REQUEST', problems.join('; '));
  }
  // Names every wrong part, the source among them.
  parseInput(inputOf(route), request);
  return parseInput(route.input, request);
}

function describeUnknown(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'unknown parameter; this route has none';
  const closest = closestName(name, known);
  return closest === undefined
    ? `unknown parameter; known are ${known.join(', ')}`
    : `unknown parameter; did you mean "${closest}"?`;
}

function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}

/** Turns an error of another system into HttpError 502: it is not a defect of this program. Wrong input is neither. */
export async function orBadGateway<T>(code: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError || error instanceof ConflictError || error instanceof UsageError)
      throw error;
    throw new HttpError(502, code, `${what}: ${describeError(error)}`, { cause: error });
  }
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

type Answered<T> = {
  [Name in keyof T & string as SnakeCase<Name>]-?:
    Exclude<T[Name], undefined> | (undefined extends T[Name] ? null : never);
};

/** The members of an object as the API answers them: with names in snake_case, and null for undefined. */
export function toAnswer<T extends object>(value: T): Answered<T>;
export function toAnswer(value: Readonly<Record<string, unknown>>): object {
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    member ?? null,
  ]);
  return Object.fromEntries(members);
}
