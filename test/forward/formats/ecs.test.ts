import { EcsFlat, EcsVersion } from '@elastic/ecs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { formatEcs } from '../../../src/forward/formats/ecs.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText } from './stored-events.ts';

const field = z.object({
  type: z.string(),
  normalize: z.array(z.string()),
  pattern: z.string().optional(),
  allowed_values: z
    .array(z.object({ name: z.string(), expected_event_types: z.array(z.string()).optional() }))
    .optional(),
});
const SCHEMA = z.record(z.string(), field.loose()).parse(EcsFlat);

const anyObject = z.record(z.string(), z.unknown());
const parse = (text: string) => anyObject.parse(JSON.parse(text));

/** Every field with its value, dotted as the schema names them; what stands under `xiq` is our own. */
function fieldsOf(value: unknown, path = ''): [string, unknown][] {
  const object = anyObject.safeParse(value);
  if (!object.success || Array.isArray(value)) return [[path, value]];
  return Object.entries(object.data).flatMap(([name, member]) =>
    name === 'xiq' && path === '' ? [] : fieldsOf(member, path === '' ? name : `${path}.${name}`),
  );
}

const OF_TYPE: Record<string, (value: unknown) => boolean> = {
  keyword: (value) => typeof value === 'string',
  match_only_text: (value) => typeof value === 'string',
  date: (value) => typeof value === 'string' && new Date(value).toISOString() === value,
  ip: (value) => z.union([z.ipv4(), z.ipv6()]).safeParse(value).success,
  long: (value) => Number.isInteger(value),
  geo_point: (value) => typeof value === 'string' && /^-?[\d.]+,-?[\d.]+$/.test(value),
};

/** What the schema does not allow in a document. */
const faultsOf = (document: Record<string, unknown>): string[] =>
  fieldsOf(document).flatMap(([name, value]) => {
    const schema = SCHEMA[name];
    if (schema === undefined) return [`${name} is not in the schema`];
    if (Array.isArray(value) !== schema.normalize.includes('array')) return [`${name}: list or not`];
    const values: unknown[] = Array.isArray(value) ? value : [value];
    return values.filter((one) => !isAllowed(schema, one)).map((one) => `${name}: ${String(one)}`);
  });

function isAllowed({ type, pattern, allowed_values }: z.output<typeof field>, value: unknown): boolean {
  return (
    OF_TYPE[type]?.(value) === true &&
    (pattern === undefined || new RegExp(pattern).test(String(value))) &&
    (allowed_values === undefined || allowed_values.some(({ name }) => name === value))
  );
}

test('whatever stands in the columns, a document has only fields of the schema, with values that they take', () => {
  fc.assert(
    fc.property(eventsOfAnyText(), (event) => {
      expect(faultsOf(parse(formatEcs(event)))).toEqual([]);
    }),
    { examples: EVENTS.map((event) => [event]), numRuns: 2 * EVENTS.length },
  );
});

test.each(EVENTS)('$messageType: a document has types that go with its categories', (event) => {
  const { category = [], type = [] } = z
    .object({ category: z.array(z.string()).optional(), type: z.array(z.string()).optional() })
    .parse(parse(formatEcs(event))['event']);
  const expected = (SCHEMA['event.category']?.allowed_values ?? [])
    .filter(({ name }) => category.includes(name))
    .map(({ expected_event_types = [] }) => expected_event_types);
  expect(expected.every((types) => type.some((one) => types.includes(one)))).toBe(true);
  expect(type.filter((one) => !expected.flat().includes(one))).toEqual([]);
});

test('a document names the version of the schema', () => {
  expect(parse(formatEcs(EVENT_OF_KIND.login))).toMatchObject({ ecs: { version: EcsVersion } });
});
