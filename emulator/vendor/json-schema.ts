import { z } from 'zod';

/** A JSON Schema as OpenAPI 3.0 has it. Only the keywords that decide here; others are ignored. */
export interface JsonSchema {
  $ref?: string | undefined;
  type?: string | undefined;
  format?: string | undefined;
  nullable?: boolean | undefined;
  enum?: unknown[] | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  required?: string[] | undefined;
  properties?: Record<string, JsonSchema> | undefined;
  additionalProperties?: boolean | JsonSchema | undefined;
  items?: JsonSchema | undefined;
  allOf?: JsonSchema[] | undefined;
  oneOf?: JsonSchema[] | undefined;
  anyOf?: JsonSchema[] | undefined;
}

export const jsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.string().optional(),
    format: z.string().optional(),
    nullable: z.boolean().optional(),
    enum: z.array(z.unknown()).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), jsonSchema).optional(),
    additionalProperties: z.union([z.boolean(), jsonSchema]).optional(),
    items: jsonSchema.optional(),
    allOf: z.array(jsonSchema).optional(),
    oneOf: z.array(jsonSchema).optional(),
    anyOf: z.array(jsonSchema).optional(),
  }),
);

const membersSchema = z.record(z.string(), z.unknown());

/** Checks values, and makes some, by schemas that refer to each other. */
export interface Schemas {
  /** What differs between a value and its schema: one line for each member, none if it is as described. */
  differences(schema: JsonSchema, value: unknown, at?: string): string[];
  /** A value that a schema allows, with all its members. */
  sample(schema: JsonSchema): unknown;
}

/** The schemas of a description by their names, the last segment of a `$ref`. */
export function createSchemas(named: Readonly<Record<string, JsonSchema>>): Schemas {
  function resolve(schema: JsonSchema): JsonSchema {
    if (schema.$ref === undefined) return schema;
    return named[schema.$ref.split('/').at(-1) ?? ''] ?? {};
  }

  function differences(reference: JsonSchema, value: unknown, at = 'body'): string[] {
    const schema = resolve(reference);
    if (value === null) return schema.nullable === true ? [] : [`${at} is null`];
    const ofAll = (schema.allOf ?? []).flatMap((part) => differences(part, value, at));
    const choices = schema.oneOf ?? schema.anyOf ?? [];
    const fits =
      choices.length === 0 || choices.some((choice) => differences(choice, value, at).length === 0);
    return [
      ...ofAll,
      ...(fits ? [] : [`${at} fits none of its choices`]),
      ...ownDifferences(schema, value, at),
    ];
  }

  function ownDifferences(schema: JsonSchema, value: unknown, at: string): string[] {
    if (!isOfType(schema, value)) return [`${at} is not of type ${schema.type}: ${shown(value)}`];
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      return [`${at} is none of the enumeration: ${shown(value)}`];
    }
    if (Array.isArray(value)) {
      const { items } = schema;
      return items === undefined ? [] : value.flatMap((item) => differences(items, item, `${at}[]`));
    }
    const members = membersSchema.safeParse(value).data;
    return members === undefined ? [] : memberDifferences(schema, members, at);
  }

  function memberDifferences(schema: JsonSchema, members: Record<string, unknown>, at: string): string[] {
    const { required = [], properties = {}, additionalProperties } = schema;
    const missing = required.filter((name) => members[name] === undefined);
    const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
    return [
      ...missing.map((name) => `${at}.${name} is missing`),
      ...Object.entries(members).flatMap(([name, member]) => {
        const described = properties[name] ?? others;
        return described === undefined ? [] : differences(described, member, `${at}.${name}`);
      }),
    ];
  }

  function sample(reference: JsonSchema): unknown {
    const schema = resolve(reference);
    if (schema.enum !== undefined) return schema.enum[0];
    const [choice] = schema.oneOf ?? schema.anyOf ?? [];
    if (choice !== undefined) return sample(choice);
    if (schema.allOf !== undefined) {
      return Object.fromEntries(
        schema.allOf.flatMap((part) => Object.entries(membersSchema.parse(sample(part)))),
      );
    }
    switch (schema.type ?? 'object') {
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return schema.minimum ?? 1;
      case 'string':
        return SAMPLE_TEXTS[schema.format ?? ''] ?? 'sample text';
      case 'array':
        return schema.items === undefined ? [] : [sample(schema.items)];
      default:
        return Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([member, part]) => [member, sample(part)]),
        );
    }
  }

  return { differences, sample };
}

const SAMPLE_TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-15T12:00:00.000+0000',
  uri: 'http://127.0.0.1:9/',
  email: 'sample@emulator.test',
};

/** As the vendor's description says, but with the offset as the specification writes it: `+0000`. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$/;

function isOfType(
  { type, format, minimum = -Infinity, maximum = Infinity }: JsonSchema,
  value: unknown,
): boolean {
  switch (type ?? 'any') {
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
    case 'number':
      return typeof value === 'number' && value >= minimum && value <= maximum;
    case 'string':
      return typeof value === 'string' && (format !== 'date-time' || DATE_TIME.test(value));
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return true;
  }
}

const SHOWN = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}
