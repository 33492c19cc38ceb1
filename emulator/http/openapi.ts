import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import type {
  ZodOpenApiObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { errorBodySchema } from '../../src/cloud/contract/shared.ts';
import { asyncQuery, inMatchingOrder } from './route.ts';
import type { TaggedRoute } from './route.ts';

/** The interface version of the specification that the emulator follows. */
const VERSION = '25.13.1-1';

const ERRORS = {
  '400': 'The request is invalid; do not repeat it',
  '401': 'The token is missing, expired or revoked',
  '403': 'The caller lacks the permission',
  '404': 'No such resource',
  '415': 'The body has another media type',
  '429': 'Too many calls; see Retry-After',
  '500': 'Internal error of the emulator',
  '503': 'Temporarily unavailable; see Retry-After',
} as const;

/** The OpenAPI 3.1 description of the routes, from the schemas that read their requests. */
export function describeApi(routes: readonly TaggedRoute[]): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of inMatchingOrder(routes)) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeRoute(route) };
  }
  const document: ZodOpenApiObject = {
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
    },
  };
  return createDocument(document, {
    override({ jsonSchema, zodSchema }) {
      // zod leaves out the default of a parameter that is read from text.
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
}

function describeRoute(route: TaggedRoute): ZodOpenApiOperationObject {
  const { method, path, tag, summary, access, input, success, longRunning, mediaType } = route;
  const { query, body, ...parameters } = input.shape;
  const isSecured = typeof access !== 'string';
  const queries = [query, longRunning ? asyncQuery : undefined].filter((each) => each instanceof z.ZodObject);
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, next: string) => next.toUpperCase())}`,
    tags: [tag],
    summary,
    // Each entry alone is sufficient: the bearer token with that permission.
    security: isSecured ? access.map((permission) => ({ bearer: [permission] })) : [],
    requestParams: {
      path: z.object(parameters),
      query: z.object(Object.assign({}, ...queries.map(({ shape }) => shape))),
    },
    ...(body instanceof z.ZodType && {
      requestBody: { required: true, content: { [mediaType ?? 'application/json']: { schema: body } } },
    }),
    responses: {
      [success.status]: {
        description: success.description,
        ...(isSecured && { headers: { RateLimit: RATE_LIMIT } }),
        ...(success.schema && { content: { 'application/json': { schema: asSent(success.schema) } } }),
      },
      ...(longRunning && { '202': ACCEPTED }),
      ...ERROR_RESPONSES,
    },
  };
}

/** The JSON Schema of an answer. The input of the contract's schemas is what the cloud sends; zod-openapi would describe the output. */
function asSent(schema: z.ZodType) {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}

const ERROR_RESPONSES: ZodOpenApiResponsesObject = Object.fromEntries(
  Object.entries(ERRORS).map(([status, description]) => [
    status,
    { id: `Error${status}`, description, content: { 'application/json': { schema: errorBodySchema } } },
  ]),
);

const RATE_LIMIT = { description: 'Remaining calls: "default";r=N', schema: { type: 'string' } } as const;

const ACCEPTED = {
  description: 'Accepted as a long-running operation',
  headers: {
    Location: { description: 'The address of the operation', schema: { type: 'string', format: 'uri' } },
    'Retry-After': { description: 'Seconds to wait before the next poll', schema: { type: 'integer' } },
  },
} as const;
