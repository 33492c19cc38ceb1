import { EcsFlat } from '@elastic/ecs';
import { z } from 'zod';
import { MESSAGE_TYPES } from '../../src/events/domain.ts';
import { ECS_MAPPINGS, ECS_OMITTED, ecsConstants } from '../../src/forward/formats/ecs.ts';
import { FACT_OF_COLUMN } from '../../src/forward/formats/facts.ts';
import { FIELDS, type FieldKind } from '../../src/events/message-types.ts';

/** The mapping of a field, or of an object with fields. */
interface Property {
  readonly [setting: string]: unknown;
}

/** The name of the pipeline in the cluster, which the template refers to. */
const PIPELINE = 'xiq-sink';

/** The stream that destinations write to by default; the pipeline divides it by message type. */
const SHARED_STREAM = 'logs-xiq.events-';

const KEYWORD = { type: 'keyword', ignore_above: 1024 };

/** The type of a fact without an ECS field, by the kind of its column. Lists have the type of their elements. */
const PROPERTY_OF_KIND: Readonly<Record<FieldKind, Property>> = {
  text: KEYWORD,
  key: KEYWORD,
  'key[]': KEYWORD,
  bigint: { type: 'long' },
  // The format writes the ids of a list as text.
  'bigint[]': KEYWORD,
  boolean: { type: 'boolean' },
  'double precision': { type: 'double' },
  timestamptz: { type: 'date' },
  inet: KEYWORD,
  macaddr: KEYWORD,
  jsonb: { type: 'match_only_text' },
};

/** Facts that are no columns, or have another name and type than their column. */
const FURTHER: Readonly<Record<string, Property>> = {
  delivery_id: KEYWORD,
  source: KEYWORD,
  origin: KEYWORD,
  gdpr_category: KEYWORD,
  alert_count: { type: 'long' },
  cause_ids: KEYWORD,
};

const FIELD = z
  .object({
    type: z.string(),
    ignore_above: z.number().optional(),
    index: z.boolean().optional(),
    doc_values: z.boolean().optional(),
    multi_fields: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
  })
  .transform(({ multi_fields: multi, ...settings }): Property => {
    if (multi === undefined) return settings;
    return { ...settings, fields: Object.fromEntries(multi.map(({ name, type }) => [name, { type }])) };
  });

/** Every field of the Elastic Common Schema that the format `ecs` writes, as the schema defines it. */
function schemaFields(): [string, Property][] {
  const members = [
    ...Object.keys(ecsConstants('other', 'unknown')),
    ...ECS_MAPPINGS.map(([, member]) => member),
  ];
  const schema = z.record(z.string(), z.unknown()).parse(EcsFlat);
  return members
    .filter((member) => !member.startsWith('xiq.'))
    .map((member) => [member, FIELD.parse(schema[member])]);
}

/** Every fact without a field in the schema. */
function ownFields(): [string, Property][] {
  const mapped = new Set([...ECS_MAPPINGS.map(([fact]) => fact), ...ECS_OMITTED]);
  const columns = MESSAGE_TYPES.flatMap((messageType) =>
    FIELDS[messageType]
      .map(
        ({ column, kind }) =>
          [FACT_OF_COLUMN[messageType]?.[column] ?? column, PROPERTY_OF_KIND[kind]] as const,
      )
      .filter(([fact]) => !mapped.has(fact)),
  );
  return [
    ['xiq.category', KEYWORD],
    ['xiq.config', PROPERTY_OF_KIND.jsonb],
    ['xiq.device_ids', KEYWORD],
    ...[...columns, ...Object.entries(FURTHER)].map(([fact, property]): [string, Property] => [
      `xiq.${fact}`,
      property,
    ]),
  ];
}

/** The stream's own fields, which the pipeline sets. */
const STREAM_FIELDS = ['type', 'dataset', 'namespace'].map((name): [string, Property] => [
  `data_stream.${name}`,
  { type: 'constant_keyword' },
]);

/** A composable index template for the data streams `logs-xiq.*`. */
export const indexTemplate = () => ({
  index_patterns: ['logs-xiq.*-*'],
  data_stream: {},
  priority: 250,
  template: {
    settings: { index: { default_pipeline: PIPELINE, codec: 'best_compression' } },
    mappings: {
      date_detection: false,
      dynamic_templates: [{ texts: { match_mapping_type: 'string', mapping: KEYWORD } }],
      properties: nest([...schemaFields(), ...ownFields(), ...STREAM_FIELDS]),
    },
  },
  _meta: { description: 'Events of xiq-sink in the format ecs' },
});

/**
 * Sets the time of arrival if it is absent, and gives each message type a data stream of its own. An event that cannot
 * be routed stays where it was sent.
 */
export const ingestPipeline = () => ({
  description: 'Events of xiq-sink in the format ecs',
  processors: [
    { set: { field: 'event.ingested', value: '{{{_ingest.timestamp}}}', override: false } },
    {
      reroute: {
        if: `ctx._index.startsWith('${SHARED_STREAM}')`,
        dataset: '{{event.dataset}}',
        ignore_failure: true,
      },
    },
  ],
});

/** The properties of a mapping, from fields with dots. */
function nest(fields: readonly (readonly [string, Property])[]): Property {
  const groups = Map.groupBy(fields, ([name]) => name.split('.')[0] ?? '');
  return Object.fromEntries(
    [...groups]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([first, members]) => {
        const leaf = members.find(([name]) => name === first);
        const inner = members.map(([name, property]) => [name.slice(first.length + 1), property] as const);
        return [first, leaf === undefined ? { properties: nest(inner) } : leaf[1]];
      }),
  );
}
