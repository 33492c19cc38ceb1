import { z } from 'zod';
import { errorBodySchema } from '../src/cloud/contract/shared.ts';
import { queryBoolean } from './query.ts';
import { inOrder } from './route-match.ts';
import type { Route, Success } from './route.ts';

/** A JSON object of the description. */
type Json = Record<string, unknown>;

/** Interface version of the specification that the emulator follows. */
const VERSION = '25.13.1-1';

const ERRORS: Readonly<Record<string, string>> = {
  '400': 'The request is wrong; do not repeat it',
  '401': 'The token is missing, expired or revoked',
  '403': 'The caller lacks the permission',
  '404': 'There is no such resource',
  '415': 'The body has another media type',
  '429': 'Too many calls; see Retry-After',
  '500': 'A defect of the emulator',
  '503': 'Out of service for a while; see Retry-After',
};

/** The OpenAPI 3.1 description of the routes, made from the schemas that read their requests. */
export function describeApi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of inOrder(routes)) {
    const path = (paths[route.path] ??= {});
    path[route.method.toLowerCase()] = describeRoute(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Network management cloud, emulated',
      version: VERSION,
      description: 'A stand-in for the REST API of the network management cloud.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { Error: jsonSchema(errorBodySchema, 'input') },
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, description]) => [
          `Error${status}`,
          { description, content: json({ $ref: '#/components/schemas/Error' }) },
        ]),
      ),
    },
  };
}

function describeRoute(route: Route): Json {
  const { method, path, tag, summary, access, input, success, longRunning } = route;
  const { query, body } = input.shape;
  const isSecured = typeof access !== 'string';
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, next: string) => next.toUpperCase())}`,
    tags: [tag],
    summary,
    // Each entry is one way in: the bearer token with that permission.
    security: isSecured ? access.map((permission) => ({ bearer: [permission] })) : [],
    parameters: [
      ...pathParameters(route),
      ...queryParameters(query instanceof z.ZodObject ? query.shape : {}),
      ...(longRunning ? queryParameters({ async: queryBoolean.default(false) }) : []),
    ],
    ...(body instanceof z.ZodType ? { requestBody: requestBody(route, body) } : {}),
    responses: {
      [success.status]: describeSuccess(success, isSecured),
      ...(longRunning ? { '202': ACCEPTED } : {}),
      ...Object.fromEntries(
        Object.keys(ERRORS).map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  };
}

const ACCEPTED = {
  description: 'Accepted as a long-running operation',
  headers: {
    Location: { description: 'Where to ask for its state', schema: { type: 'string', format: 'uri' } },
    'Retry-After': { description: 'Seconds to wait before asking', schema: { type: 'integer' } },
  },
};

function pathParameters({ path, input }: Route): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: input.shape[name] instanceof z.ZodType ? jsonSchema(input.shape[name], 'input') : {},
  }));
}

/** What a query parameter reads as is described, not the text it is read from. */
function queryParameters(shape: Readonly<Record<string, unknown>>): Json[] {
  return Object.entries(shape).flatMap(([name, schema]) => {
    if (!(schema instanceof z.ZodType)) return [];
    const described = jsonSchema(schema, 'output');
    return [
      {
        name,
        in: 'query',
        required: !schema.safeParse(undefined).success,
        ...(described['type'] === 'array' ? { style: 'form', explode: false } : {}),
        schema: described,
      },
    ];
  });
}

function requestBody({ mediaType = 'application/json' }: Route, body: z.ZodType): Json {
  return { required: true, content: { [mediaType]: { schema: jsonSchema(body, 'input') } } };
}

function describeSuccess({ description, schema }: Success, isSecured: boolean): Json {
  return {
    description,
    ...(isSecured ? { headers: { RateLimit: RATE_LIMIT } } : {}),
    ...(schema === undefined ? {} : { content: json(jsonSchema(schema, 'input')) }),
  };
}

const RATE_LIMIT = { description: 'Calls that remain: "default";r=N', schema: { type: 'string' } };

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
