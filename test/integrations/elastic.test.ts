import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { indexTemplate, ingestPipeline } from '../../integrations/elastic/elastic.ts';
import { formatEcs } from '../../src/forward/formats/ecs.ts';
import { elasticsearchOptions } from '../../src/forward/senders/elasticsearch.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { EVENTS, eventsOfAnyText } from '../forward/formats/stored-events.ts';

const anyObject = z.record(z.string(), z.unknown());
const Property = z.object({ type: z.string().optional(), properties: anyObject.optional() });

/** The type of each field of the template, with dots. */
function typesIn(properties: Record<string, unknown>, path = ''): [string, string][] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const { type, properties: inner } = Property.parse(property);
    if (inner !== undefined) return typesIn(inner, `${path}${name}.`);
    return type === undefined ? [] : [[`${path}${name}`, type] as const];
  });
}

const TYPES = new Map(typesIn(anyObject.parse(indexTemplate().template.mappings.properties)));

/** Every field of a document with its values: for a mapping, a list is several values of its field. */
function valuesOf(value: unknown, path = ''): [string, unknown][] {
  if (Array.isArray(value)) return value.flatMap((one) => valuesOf(one, path));
  const object = anyObject.safeParse(value).data;
  if (object === undefined) return [[path, value]];
  return Object.entries(object).flatMap(([name, member]) =>
    valuesOf(member, path === '' ? name : `${path}.${name}`),
  );
}

const isText = (value: unknown) => typeof value === 'string';
const isInt64 = (value: unknown) => /^-?\d{1,19}$/.test(String(value)) && BigInt(String(value)) < 2n ** 63n;

/** Which values Elasticsearch accepts for a type. A long and a double may be a text with a number. */
const ACCEPTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  keyword: (value) => ['string', 'number', 'boolean'].includes(typeof value),
  match_only_text: isText,
  long: (value) => (typeof value === 'number' ? Number.isInteger(value) : isInt64(value)),
  double: (value) => Number.isFinite(Number(value)),
  boolean: (value) => typeof value === 'boolean',
  date: (value) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(String(value)),
  ip: (value) => z.union([z.ipv4(), z.ipv6()]).safeParse(value).success,
  geo_point: (value) => /^-?[\d.]+,-?[\d.]+$/.test(String(value)),
};

/** The fields that the template lacks, and those with a value that their type does not accept. */
function faultsOf(event: StoredEvent): string[] {
  return valuesOf(JSON.parse(formatEcs(event))).flatMap(([field, value]) => {
    const type = TYPES.get(field);
    if (type === undefined) return [`${field} has no mapping`];
    return ACCEPTS[type]?.(value) === true ? [] : [`${field} (${type}): ${JSON.stringify(value)}`];
  });
}

describe('the index template', () => {
  test('whatever is in the columns, every field is mapped, and its type accepts the value', () => {
    fc.assert(
      fc.property(eventsOfAnyText(), (event) => {
        expect(faultsOf(event)).toEqual([]);
      }),
      { examples: EVENTS.map((event) => [event]), numRuns: 2 * EVENTS.length },
    );
  });

  test('it maps no field that the format does not write', () => {
    const written = new Set(
      EVENTS.flatMap((event) => valuesOf(JSON.parse(formatEcs(event))).map(([field]) => field)),
    );
    const further = [...TYPES.keys()].filter((field) => !written.has(field));
    expect(further).toEqual(['data_stream.dataset', 'data_stream.namespace', 'data_stream.type']);
  });

  test('numbers, times and truth values outside the schema have types of their own', () => {
    expect(Object.fromEntries(TYPES)).toMatchObject({
      'xiq.rssi': 'double',
      'xiq.device_count': 'long',
      'xiq.auth_date': 'date',
      'xiq.acknowledged': 'boolean',
      'xiq.config': 'match_only_text',
      'xiq.status': 'keyword',
    });
  });
});

const { index: STREAM } = elasticsearchOptions.parse({ url: 'https://es.example' });

/** The stream that the pipeline routes an event to from the default one. */
const routed = (event: StoredEvent) => {
  const { event: fields } = z
    .object({ event: z.object({ dataset: z.string() }) })
    .parse(JSON.parse(formatEcs(event)));
  return `logs-${fields.dataset}-default`;
};

describe('the ingest pipeline', () => {
  const [set, route] = ingestPipeline().processors;
  const prefix = /startsWith\('(.+)'\)/.exec(route?.reroute?.if ?? '')?.[1] ?? '';

  test('only fills in what is absent, and routes', () => {
    expect(ingestPipeline().processors).toHaveLength(2);
    expect(set?.set).toMatchObject({ field: 'event.ingested', override: false });
    expect(route?.reroute).toMatchObject({ dataset: '{{event.dataset}}', ignore_failure: true });
    expect(TYPES.get('event.ingested')).toBe('date');
  });

  test('routes the events of the default stream', () => {
    expect(prefix).toMatch(/^logs-.+-$/);
    expect(STREAM.startsWith(prefix)).toBe(true);
  });

  test('routes each message type to a stream of the template, and none in a circle', () => {
    const pattern = new RegExp(
      `^${indexTemplate().index_patterns[0]?.replaceAll('.', '\\.').replaceAll('*', '.*')}$`,
    );
    expect(STREAM).toMatch(pattern);
    for (const event of EVENTS) {
      expect(routed(event)).toMatch(pattern);
      expect(routed(event)).toMatch(/^logs-[a-z0-9._]+-default$/);
      expect(routed(event).startsWith(prefix)).toBe(false);
    }
    expect(new Set(EVENTS.map(routed)).size).toBe(new Set(EVENTS.map(({ messageType }) => messageType)).size);
  });
});
