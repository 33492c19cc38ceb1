import { parse } from 'yaml';
import { z } from 'zod';
import { jsonSchema } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/** An operation of a description. */
export interface Operation {
  requestBody: JsonSchema | undefined;
  /** The schema of each successful answer by its status, undefined for an answer without a body. */
  answers: ReadonlyMap<number, JsonSchema | undefined>;
}

/** An OpenAPI description. */
export interface Description {
  version: string;
  /** By `operationName`. */
  operations: ReadonlyMap<string, Operation>;
  /** The schemas that a `$ref` names. */
  namedSchemas: Readonly<Record<string, JsonSchema>>;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const contentSchema = z.record(z.string(), z.looseObject({ schema: jsonSchema.optional() }));
const operationSchema = z.object({
  requestBody: z.object({ content: contentSchema }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: contentSchema.optional() })),
});
const descriptionSchema = z.object({
  info: z.object({ version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
});

/** Reads an OpenAPI description, in YAML or JSON. Throws if the text is none. */
export function readDescription(text: string): Description {
  const { info, paths, components } = descriptionSchema.parse(parse(text));
  const operations = Object.entries(paths).flatMap(([path, members]) =>
    METHODS.filter((method) => members[method] !== undefined).map(
      (method) => [operationName(method, path), readOperation(members[method])] as const,
    ),
  );
  return { version: info.version, operations: new Map(operations), namedSchemas: components.schemas };
}

/** The name of an operation, whatever its path parameters are called. */
export function operationName(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
}

/** The operation at an address, with or without a query. An address without parameters is preferred. */
export function findOperation(
  operations: Description['operations'],
  method: string,
  address: string,
): Operation | undefined {
  const name = `${method} ${address.replace(/\?.*/, '')}`;
  const matching = [...operations].find(([pattern]) =>
    new RegExp(`^${pattern.replaceAll('{}', '[^/]+')}$`).test(name),
  );
  return operations.get(name) ?? matching?.[1];
}

function readOperation(described: unknown): Operation {
  const { requestBody, responses } = operationSchema.parse(described);
  const successes = Object.entries(responses).filter(([status]) => /^2\d\d$/.test(status));
  return {
    requestBody: schemaIn(requestBody?.content),
    answers: new Map(successes.map(([status, { content }]) => [Number(status), schemaIn(content)])),
  };
}

function schemaIn(content: z.output<typeof contentSchema> | undefined): JsonSchema | undefined {
  return content?.['application/json']?.schema;
}
