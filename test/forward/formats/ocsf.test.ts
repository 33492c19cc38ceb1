import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { formatOcsf } from '../../../src/forward/formats/ocsf.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText, sampleEvent, storedEvent } from './stored-events.ts';

// The part of the OCSF 1.5.0 schema that these events use: attributes and their types by class and object.

const mac = z.string().regex(/^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/);
const ip = z.union([z.ipv4(), z.ipv6()]);
const time = z.int().min(0);
const email = z.string().regex(/^[a-zA-Z0-9!#$%&'*+-/=?^_`{|}~.]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$/);

const oneOf = (...names: string[]) =>
  [
    (object: object) => names.some((name) => name in object),
    `has at least one of ${names.join(', ')}`,
  ] as const;

const organization = z.strictObject({ name: z.string() });
const user = z
  .strictObject({
    name: z.string().optional(),
    uid: z.string().optional(),
    email_addr: email.optional(),
    type_id: z.literal([0, 1, 2, 3, 99]).optional(),
    type: z.string().optional(),
    org: organization.optional(),
  })
  .refine(...oneOf('name', 'uid'));
const actor = z.strictObject({ user });
const endpoint = z
  .strictObject({
    name: z.string().optional(),
    uid: z.string().optional(),
    ip: ip.optional(),
    mac: mac.optional(),
  })
  .refine(...oneOf('name', 'uid', 'ip'));
const device = z
  .strictObject({
    type_id: z.int(),
    type: z.string().optional(),
    name: z.string().optional(),
    hostname: z.string().optional(),
    uid: z.string().optional(),
    ip: ip.optional(),
    mac: mac.optional(),
    vendor_name: z.string().optional(),
    os: z.strictObject({ name: z.string(), type_id: z.int() }).optional(),
  })
  .refine(...oneOf('name', 'hostname', 'uid', 'ip'));
const entity = z
  .strictObject({
    name: z.string(),
    type_id: z.int(),
    type: z.string(),
    device: device.optional(),
    data: z.unknown(),
  })
  .partial({ data: true });

const BASE = {
  category_uid: z.int(),
  class_uid: z.int(),
  activity_id: z.int(),
  type_uid: z.int(),
  severity_id: z.literal([0, 1, 2, 3, 5]),
  status_id: z.literal([0, 1, 2]),
  status_detail: z.string().optional(),
  time,
  start_time: time.optional(),
  end_time: time.optional(),
  message: z.string().optional(),
  raw_data: z.string(),
  unmapped: z.record(z.string(), z.unknown()),
  metadata: z.strictObject({
    version: z.literal('1.5.0'),
    product: z.strictObject({ name: z.string(), vendor_name: z.string() }),
    uid: z.uuid(),
    event_code: z.string().optional(),
    tenant_uid: z.string().optional(),
    log_name: z.string(),
    logged_time: time,
    profiles: z.array(z.literal('host')).optional(),
  }),
};

const CLASSES: Record<number, z.ZodType> = {
  0: z.strictObject({ ...BASE, activity_name: z.string(), actor: actor.optional() }),
  3001: z.strictObject({ ...BASE, actor: actor.optional(), user }),
  3002: z
    .strictObject({
      ...BASE,
      actor: actor.optional(),
      user,
      service: z.strictObject({ name: z.string() }).optional(),
      src_endpoint: endpoint.optional(),
      dst_endpoint: endpoint.optional(),
      auth_protocol_id: z.int().min(0).max(12).optional(),
      auth_protocol: z.string().optional(),
      logon_type_id: z.int().min(0).max(13).optional(),
      logon_type: z.string().optional(),
    })
    .refine(...oneOf('service', 'dst_endpoint')),
  3004: z.strictObject({ ...BASE, actor: actor.optional(), entity }),
  4001: z
    .strictObject({
      ...BASE,
      actor: actor.optional(),
      src_endpoint: endpoint.optional(),
      dst_endpoint: endpoint.optional(),
      duration: z.int().optional(),
      traffic: z.strictObject({ bytes_in: z.number(), bytes_out: z.number() }).partial().optional(),
      connection_info: z.strictObject({ direction_id: z.literal(0), uid: z.string().optional() }),
    })
    .refine(...oneOf('src_endpoint', 'dst_endpoint')),
  4009: z.strictObject({
    ...BASE,
    actor: actor.optional(),
    direction_id: z.literal([0, 1, 2, 3, 99]),
    email: z.strictObject({ to: z.array(email) }),
  }),
  5001: z.strictObject({ ...BASE, actor: actor.optional(), device }),
};

/** The classes that have an actor by the profile alone. */
const BY_PROFILE = new Set([0, 4001, 4009]);

const ids = z.looseObject({
  category_uid: z.int(),
  class_uid: z.int(),
  activity_id: z.int(),
  type_uid: z.int(),
  metadata: z.looseObject({ profiles: z.array(z.string()).optional() }),
});

const parse = (text: string) => ids.parse(JSON.parse(text));

describe.each(EVENTS.map((event) => [event.messageType, event] as const))('%s in OCSF', (_, event) => {
  const document = parse(formatOcsf(event));

  test('has what its class requires, nothing that the class does not know, and the right types', () => {
    expect(CLASSES[document.class_uid]?.safeParse(document)).toMatchObject({ success: true });
  });

  test('has ids that agree', () => {
    expect(document.category_uid).toBe(Math.floor(document.class_uid / 1000));
    expect(document.type_uid).toBe(document.class_uid * 100 + document.activity_id);
    expect(document.metadata.profiles).toEqual(BY_PROFILE.has(document.class_uid) ? ['host'] : undefined);
  });

  test('is this event', () => {
    expect(document).toMatchObject({
      time: Date.parse(event.occurredAt),
      raw_data: JSON.stringify(event.payload),
      metadata: { uid: event.eventId },
    });
  });
});

test('whatever stands in the columns, an event stays one of its class', () => {
  fc.assert(
    fc.property(eventsOfAnyText(), (event) => {
      const document = parse(formatOcsf(event));
      expect(CLASSES[document.class_uid]?.safeParse(document)).toMatchObject({ success: true });
    }),
  );
});

test.each([
  ['login', 300201],
  ['logout', 300202],
  ['ppskCreated', 300101],
  ['ppskDeleted', 300106],
  ['configuration', 300403],
  ['authentication', 300201],
  ['accountingStart', 400101],
  ['accountingInterim', 400106],
  ['accountingStop', 400102],
  ['credential', 300401],
  ['email', 400901],
  ['sms', 99],
  ['gdpr', 300404],
  ['location', 500101],
  ['alert', 99],
] as const)('%s is of type %i', (kind, typeUid) => {
  expect(parse(formatOcsf(EVENT_OF_KIND[kind])).type_uid).toBe(typeUid);
});

describe('the attributes of OCSF', () => {
  test('a change of the configuration', () => {
    expect(parse(formatOcsf(EVENT_OF_KIND.configuration))).toMatchObject({
      severity_id: 2,
      status_id: 0,
      message: 'User admin@example.com logged in',
      actor: { user: { uid: '2345678', name: 'admin@example.com', email_addr: 'admin@example.com' } },
      entity: { data: { ppsk: { name: 'guest' } }, device: { hostname: 'ap-1', uid: '11' } },
      metadata: { event_code: '50000', tenant_uid: '0' },
      unmapped: { owner_id: '1234567', category: 3, vhm_name: 'VHM-EXAMPLE', org_name: 'North' },
    });
  });

  test('a private key: its user is the target, the administrator the actor', () => {
    expect(parse(formatOcsf(EVENT_OF_KIND.ppskCreated))).toMatchObject({
      severity_id: 2,
      status_id: 1,
      user: { name: 'guest-17', type_id: 99, type: 'PPSK', org: { name: 'North' } },
      actor: { user: { name: 'admin@example.com' } },
    });
  });

  test('a failed authentication', () => {
    expect(parse(formatOcsf(sampleEvent('AUTHENTICATION_LOG_ALL')))).toMatchObject({
      severity_id: 2,
      status_id: 2,
      status_detail: 'certificate expired',
      auth_protocol_id: 10,
      logon_type_id: 3,
      user: { name: 'jane' },
      src_endpoint: { mac: '0a:1b:2c:3d:4e:5f', name: '0A-1B-2C-3D-4E-5F' },
      dst_endpoint: { mac: 'aa:bb:cc:00:11:22', name: 'ap-lobby', uid: '02301234567890' },
    });
  });

  test('a network session: input is what the client sent', () => {
    expect(parse(formatOcsf(EVENT_OF_KIND.accountingStop))).toMatchObject({
      traffic: { bytes_out: 4_294_967_296, bytes_in: 1024 },
      connection_info: { uid: '5F00-AB' },
      duration: 3_540_000,
      start_time: Date.parse('2026-01-31T07:00:00Z'),
    });
  });

  test('a located client, or the access point where there is none', () => {
    expect(parse(formatOcsf(EVENT_OF_KIND.location))).toMatchObject({
      device: { type_id: 0, mac: '0a:1b:2c:3d:4e:5f', ip: '10.1.2.3', vendor_name: 'Example Inc.' },
      unmapped: { lat: 37.4, lng: -121.9 },
    });
    const lonely = storedEvent('LOCATION_AP_CENTRIC', {
      ownerId: 1,
      apMac: 'aabbcc001122',
      observations: [],
    });
    expect(parse(formatOcsf(lonely))).toMatchObject({
      device: { type_id: 99, type: 'Access Point', mac: 'aa:bb:cc:00:11:22' },
    });
  });

  test.each([
    [1, 5],
    [2, 3],
    [3, 1],
    [4, 0],
    [null, 0],
  ])('an alert of severity %j has the severity %i', (severityId, expected) => {
    expect(parse(formatOcsf(sampleEvent('ALERT', { severityId })))).toMatchObject({
      activity_name: 'Alert',
      severity_id: expected,
      message: 'Access point ap-lobby is offline',
      unmapped: { alert_source_name: 'ap-lobby', acknowledged: false, site_id: 77 },
    });
  });

  test('mail goes to its reader, or to the approver', () => {
    const to = (username: string) => parse(formatOcsf(sampleEvent('EMAIL_LOG_ALL', { username })));
    expect(to('guest@example.com')).toMatchObject({ direction_id: 2, email: { to: ['guest@example.com'] } });
    expect(to('guest')).toMatchObject({ email: { to: ['boss@example.com'] } });
  });
});
