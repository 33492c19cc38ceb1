import type { Request, Response } from 'express';
import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Operator } from '../../store/operator-log.ts';
import { queryOf } from './query.ts';

/** What a route asks for: schemas of its path's parameters, of its query and of its JSON body. */
export type Asks = z.ZodObject<{
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
}>;

/** Asks for nothing. */
export const NOTHING = z.object({});

/** Who asks, and whether he still waits. */
export interface Asking {
  readonly operator: Operator;
  /** Fires when nobody waits for the answer any more, or the program is to end. */
  readonly signal: AbortSignal;
}

interface Described<A extends Asks> {
  readonly method: 'get' | 'post';
  /** Below /api/v1, parameters in braces: `/events/{event_id}`. */
  readonly path: `/${string}`;
  /** The area that it belongs to. */
  readonly tag: string;
  /** What it does, in a few words. */
  readonly summary: string;
  readonly description?: string;
  readonly asks: A;
}

/** A JSON answer's schema, or the media types of an answer in pieces with what each is. */
type Answers =
  | { readonly kind: 'json'; readonly schema: z.ZodType }
  | { readonly kind: 'stream'; readonly mediaTypes: Readonly<Record<string, string>> };

/** A route as the server and the OpenAPI document take it. */
export interface ApiRoute extends Described<Asks> {
  readonly answers: Answers;
  readonly serve: (request: Request, response: Response, asking: Asking) => Promise<void>;
}

/**
 * A route that answers with JSON: exactly what `answer` describes. Members that it does not name are left out; what
 * does not fit otherwise is a defect.
 */
export function jsonRoute<A extends Asks, Answer extends z.ZodType>(
  route: Described<A> & {
    readonly answer: Answer;
    readonly work: (asked: z.output<A>, asking: Asking) => Promise<z.input<Answer>>;
  },
): ApiRoute {
  const { answer, work, ...described } = route;
  return {
    ...described,
    answers: { kind: 'json', schema: answer },
    async serve(request, response, asking) {
      response.json(answer.parse(await work(readAsked(route.asks, request), asking)));
    },
  };
}

/** A route that writes its answer itself, piece by piece, and ends it. */
export function streamRoute<A extends Asks>(
  route: Described<A> & {
    readonly mediaTypes: Readonly<Record<string, string>>;
    readonly work: (asked: z.output<A>, asking: Asking, response: Response) => Promise<void>;
  },
): ApiRoute {
  const { mediaTypes, work, ...described } = route;
  return {
    ...described,
    answers: { kind: 'stream', mediaTypes },
    serve: (request, response, asking) => work(readAsked(route.asks, request), asking, response),
  };
}

/** Reads path, query and body by a schema. Throws HttpError 400 that names every part that does not fit. */
export function readAsked<A extends Asks>(asks: A, request: Request): z.output<A> {
  const body: unknown = request.body ?? {};
  const { data, error } = asks.safeParse({ path: request.params, query: queryOf(request), body });
  if (error !== undefined) throw new HttpError(400, 'BAD_REQUEST', describeIssues(error), { cause: error });
  return data;
}

function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}
