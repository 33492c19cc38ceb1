import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { Area } from '../area.ts';
import { placeOf, type ApiRoute } from './route.ts';

export const errorBody = z
  .object({ error_code: z.string(), error_id: z.string(), error_message: z.string() })
  .meta({ id: 'Error', description: 'An error; the log has details under error_id' });

/** Describes the routes of areas as an OpenAPI 3.1 document, made from the schemas that validate requests. */
export function describeApi(areas: readonly Area[], version: string): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const { tag, routes } of areas) {
    for (const route of routes) {
      const { method, path } = placeOf(route);
      const operationId = `${method}${path.replaceAll(/[/{}_-]+(.?)/g, (_, next: string) => next.toUpperCase())}`;
      const whole = `/api/v1${path}`;
      paths[whole] = { ...paths[whole], [method]: { tags: [tag], operationId, ...describeRoute(route) } };
    }
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'xiq-sink',
      version,
      description:
        'Everything that the console shows and does. Times are ISO 8601 in UTC; 64-bit integers are strings. Unknown query parameters are errors.',
    },
    security: [{ token: [] }],
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN, or the API token of an account' },
      },
    },
    paths,
  });
}

function describeRoute(route: ApiRoute): ZodOpenApiOperationObject {
  const { summary, description, needs, input = {}, answers } = route;
  const { path: parameters, query, body } = input;
  const content =
    answers.kind === 'json'
      ? { 'application/json': { schema: answers.schema } }
      : Object.fromEntries(
          Object.entries(answers.mediaTypes).map(([type, meaning]) => [
            type,
            { schema: z.string().meta({ description: meaning }) },
          ]),
        );
  return {
    summary,
    ...(description !== undefined && { description }),
    'x-permission': needs,
    requestParams: { ...(parameters && { path: parameters }), ...(query && { query }) },
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { description: 'success', content },
      default: { description: 'error', content: { 'application/json': { schema: errorBody } } },
    },
  };
}
