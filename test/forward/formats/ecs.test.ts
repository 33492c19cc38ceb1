import { EcsFlat, EcsVersion } from '@elastic/ecs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { formatEcs } from '../../../src/forward/formats/ecs.ts';
import { isRuleAlert, type StoredEvent } from '../../../src/events/stored-event.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText, sampleEvent } from './stored-events.ts';

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

test('whatever stands in the columns, no field gets a value that it does not take', () => {
  fc.assert(
    fc.property(eventsOfAnyText(), (event) => {
      expect(faultsOf(parse(formatEcs(event)))).toEqual([]);
    }),
  );
});

const kindOf = (event: StoredEvent) =>
  event.messageType === 'ALERT' || isRuleAlert(event) ? 'alert' : 'event';

describe.each(EVENTS.map((event) => [event.messageType, event] as const))('%s in ECS', (_, event) => {
  const document = parse(formatEcs(event));

  test('has only fields of the schema, each with a value that it allows', () => {
    expect(faultsOf(document)).toEqual([]);
  });

  test('has a type for each of its categories, and none that goes with no category', () => {
    const { category = [], type = [] } = z
      .object({ category: z.array(z.string()).optional(), type: z.array(z.string()).optional() })
      .parse(document['event']);
    const expected = (SCHEMA['event.category']?.allowed_values ?? [])
      .filter(({ name }) => category.includes(name))
      .map(({ expected_event_types = [] }) => expected_event_types);
    expect(expected.every((types) => type.some((one) => types.includes(one)))).toBe(true);
    expect(type.filter((one) => !expected.flat().includes(one))).toEqual([]);
  });

  test('has what a data stream needs, and names none', () => {
    expect(document).toMatchObject({
      '@timestamp': event.occurredAt,
      ecs: { version: EcsVersion },
      event: { id: event.eventId, kind: kindOf(event), original: JSON.stringify(event.payload) },
      observer: { vendor: 'Extreme Networks', product: 'ExtremeCloud IQ' },
      cloud: { account: { id: event.ownerId } },
    });
    expect(document).not.toHaveProperty('data_stream');
  });
});

describe('the fields of ECS', () => {
  test('an organization that the inventory names, and not the record', () => {
    const seen = { ...sampleEvent('LOCATION_AP_CENTRIC'), orgId: '5', organization: 'North' };
    expect(parse(formatEcs(seen))).toMatchObject({ organization: { id: '5', name: 'North' } });
    const own = { ...EVENT_OF_KIND.configuration, organization: 'Another' };
    expect(parse(formatEcs(own))).toMatchObject({ organization: { name: 'North' } });
  });

  test('an audit record', () => {
    const document = parse(formatEcs(EVENT_OF_KIND.configuration));
    expect(document).toMatchObject({
      message: 'User admin@example.com logged in',
      event: {
        category: ['configuration'],
        type: ['change'],
        code: '50000',
        action: 'configuration-changed',
        outcome: 'unknown',
        severity: 5,
      },
      user: { id: '2345678', name: 'admin@example.com', email: 'admin@example.com', domain: 'example.com' },
      organization: { id: '0', name: 'North' },
      related: { user: ['admin@example.com'], hosts: ['ap-1'] },
      host: { name: 'ap-1', id: '11' },
      xiq: {
        category: '3',
        vhm_name: 'VHM-EXAMPLE',
        device_ids: ['11'],
        device_count: 2,
        config: '{"ppsk":{"name":"guest"}}',
      },
    });
  });

  test('several devices are no host', () => {
    const document = parse(formatEcs(sampleEvent('AUDIT_LOG_ALL')));
    expect(document).not.toHaveProperty('host');
    expect(document).toMatchObject({
      related: { hosts: ['ap-1', 'ap "two"'] },
      xiq: { device_ids: ['11', '22'] },
    });
  });

  test.each(['ppskCreated', 'ppskDeleted'] as const)('%s names the user of the key', (kind) => {
    const name = kind === 'ppskCreated' ? 'guest-17' : 'guest 17';
    expect(parse(formatEcs(EVENT_OF_KIND[kind]))).toMatchObject({
      user: { name: 'admin@example.com', target: { name } },
      related: { user: ['admin@example.com', name] },
    });
  });

  test('a client, what it sent and how long it was there', () => {
    expect(parse(formatEcs(EVENT_OF_KIND.accountingStop))).toMatchObject({
      source: { ip: '10.1.2.3', mac: '0A-1B-2C-3D-4E-5F', bytes: 4_294_967_296 },
      destination: { bytes: 1024 },
      related: { ip: ['10.1.2.3', '10.0.0.2'], hosts: ['ap-lobby'], user: ['jane', 'jane@example.com'] },
      event: {
        start: '2026-01-31T07:00:00.000Z',
        end: '2026-01-31T07:59:00.000Z',
        duration: 3_540_000_000_000,
      },
      observer: {
        mac: ['AA-BB-CC-00-11-22'],
        ip: ['10.0.0.2'],
        name: 'ap-lobby',
        type: 'access-point',
        serial_number: '02301234567890',
      },
      xiq: { acct_session_id: '5F00-AB', event_time: '2026-01-31T07:59:01.000Z' },
    });
  });

  test('an audit record without a sign of a change has no category', () => {
    const { event } = parse(formatEcs(EVENT_OF_KIND.audit));
    expect(event).toMatchObject({ action: 'audit-50001', ingested: EVENT_OF_KIND.audit.receivedAt });
    expect(event).not.toHaveProperty('category');
    expect(event).not.toHaveProperty('type');
  });

  test('a rejected authentication is denied', () => {
    const document = parse(formatEcs(sampleEvent('AUTHENTICATION_LOG_ALL', { username: 'EXAMPLE\\jane' })));
    expect(document).toMatchObject({
      event: { type: ['start', 'denied'] },
      user: { name: 'EXAMPLE\\jane', domain: 'EXAMPLE' },
    });
  });

  test('id and name of different members are not one person', () => {
    const document = parse(formatEcs(EVENT_OF_KIND.email));
    expect(document).not.toHaveProperty('user');
    expect(document).toMatchObject({
      email: { direction: 'outbound', to: { address: ['guest@example.com'] } },
      related: { user: ['guest@example.com', 'boss@example.com'] },
      xiq: { user_id: 42, username: 'guest@example.com' },
    });
  });

  test('the subject of a credential is its target', () => {
    const { user } = parse(formatEcs(EVENT_OF_KIND.credential));
    expect(user).toEqual({ target: { name: 'jane' } });
  });

  test('a located client', () => {
    expect(parse(formatEcs(EVENT_OF_KIND.location))).toMatchObject({
      source: { ip: '10.1.2.3', geo: { location: '37.4,-121.9' } },
      related: { ip: ['10.1.2.3', 'fe80::a1b:2cff:fe3d:4e5f'] },
      xiq: { rssi: -67, lat: 37.4, os: 'ExampleOS' },
    });
  });

  test('a place that is not on earth is no position', () => {
    const event = { ...EVENT_OF_KIND.location, columns: { lat: '91', lng: '0' } };
    expect(parse(formatEcs(event))).not.toHaveProperty('source');
  });

  test('no digit of an int64 is lost, and what lies beyond one is left out', () => {
    const octets = (acctInputOctets: string) => ({
      ...EVENT_OF_KIND.accountingStop,
      columns: { acct_input_octets: acctInputOctets },
    });
    expect(formatEcs(octets('9223372036854775807'))).toContain('"bytes":9223372036854775807');
    expect(formatEcs(octets('9223372036854775808'))).not.toContain('"bytes"');
  });
});
