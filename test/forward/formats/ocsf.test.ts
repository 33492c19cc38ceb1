import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { formatOcsf, OCSF_VERSIONS } from '../../../src/forward/formats/ocsf.ts';
import { problemsInOcsf } from './ocsf-schema.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText, sampleEvent, storedEvent } from './stored-events.ts';

/** The classes that have an actor by the profile alone. */
const BY_PROFILE = new Set([4001]);

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
    expect(problemsInOcsf(document)).toEqual([]);
  });

  test('has ids that agree', () => {
    expect(document.category_uid).toBe(Math.floor(document.class_uid / 1000));
    expect(document.type_uid).toBe(document.class_uid * 100 + document.activity_id);
    expect(document.metadata.profiles).toEqual(
      BY_PROFILE.has(document.class_uid) ? ['cloud', 'host'] : ['cloud'],
    );
  });

  test('is this event', () => {
    expect(document).toMatchObject({
      time: Date.parse(event.occurredAt),
      raw_data: JSON.stringify(event.payload),
      metadata: { uid: event.eventId },
    });
  });
});

test('is of the release that was asked for, and otherwise the same', () => {
  for (const version of OCSF_VERSIONS) {
    const { metadata, ...rest } = parse(formatOcsf(EVENT_OF_KIND.login, version));
    const usual = parse(formatOcsf(EVENT_OF_KIND.login));
    expect({ ...rest, metadata }).toEqual({ ...usual, metadata: { ...usual.metadata, version } });
  }
});

test('what the schema does not allow is a problem', () => {
  const document = parse(formatOcsf(EVENT_OF_KIND.authentication));
  const wrong = {
    ...document,
    activity_id: 7,
    status: 'Good',
    session: {},
    time: '2026-01-31T08:00:00Z',
    user: { email_addr: 'nobody' },
    metadata: { ...document.metadata, profiles: [], version: undefined },
    observables: [{ name: 'user.name', type_id: 3, type: 'User Name', value: 'eve' }],
  };
  expect(problemsInOcsf(JSON.parse(JSON.stringify(wrong))).toSorted()).toEqual([
    'activity_id has no value 7',
    'activity_name is Logon instead of undefined',
    'cloud is unknown',
    'metadata.version is required',
    'observables.type is User Name instead of MAC Address',
    'session is unknown',
    'status is Good instead of Success',
    'the observable user.name is not eve of type 3',
    'time is no integer',
    'type_name is "Authentication: Logon" instead of Authentication: undefined',
    'type_uid is 300201 instead of 300207',
    'user.: none of account,name,uid',
    'user.email_addr is no email_t: nobody',
  ]);
});

test('whatever stands in the columns, an event stays one of its class', () => {
  fc.assert(
    fc.property(eventsOfAnyText(), (event) => {
      const document = parse(formatOcsf(event));
      expect(problemsInOcsf(document)).toEqual([]);
    }),
  );
});

test.each([
  ['login', 300201],
  ['logout', 300202],
  ['ppskCreated', 300101],
  ['ppskDeleted', 300106],
  ['configuration', 300403],
  ['audit', 300499],
  ['authentication', 300201],
  ['accountingStart', 400101],
  ['accountingInterim', 400106],
  ['accountingStop', 400102],
  ['credential', 300499],
  ['email', 400901],
  ['sms', 99],
  ['gdprDeletion', 300404],
  ['gdprDownload', 300402],
  ['gdpr', 300499],
  ['location', 500101],
  ['alert', 99],
  ['other', 99],
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
      cloud: { account: { uid: '1234567' } },
      unmapped: { category: 3, vhm_name: 'VHM-EXAMPLE', org_name: 'North' },
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
      auth_protocol_id: 9,
      auth_protocol: 'EAP',
      status: 'Failure',
      severity: 'Low',
      type_name: 'Authentication: Logon',
      logon_type_id: 3,
      user: { name: 'jane' },
      src_endpoint: { mac: '0a:1b:2c:3d:4e:5f', name: '0A-1B-2C-3D-4E-5F' },
      dst_endpoint: { mac: 'aa:bb:cc:00:11:22', name: 'ap-lobby', uid: '02301234567890' },
    });
  });

  test.each([
    ['RADIUS', 10, 'RADIUS'],
    ['PPSK', 99, 'PPSK'],
    ['CWP', 99, 'CWP'],
    ['Enterprise', 99, 'Enterprise'],
    [null, undefined, undefined],
  ])('an authentication by %j has the protocol %j', (authType, id, name) => {
    const document = parse(formatOcsf(sampleEvent('AUTHENTICATION_LOG_ALL', { authType })));
    expect([document['auth_protocol_id'], document['auth_protocol']]).toEqual([id, name]);
    expect(document).not.toHaveProperty('service');
    expect(document).not.toHaveProperty('actor');
  });

  test('a value of an attribute is an observable', () => {
    expect(parse(formatOcsf(EVENT_OF_KIND.accountingStop))['observables']).toEqual([
      { name: 'actor.user.name', type_id: 4, type: 'User Name', value: 'jane' },
      { name: 'src_endpoint.ip', type_id: 2, type: 'IP Address', value: '10.1.2.3' },
      { name: 'src_endpoint.mac', type_id: 3, type: 'MAC Address', value: '0a:1b:2c:3d:4e:5f' },
      { name: 'dst_endpoint.ip', type_id: 2, type: 'IP Address', value: '10.0.0.2' },
      { name: 'dst_endpoint.mac', type_id: 3, type: 'MAC Address', value: 'aa:bb:cc:00:11:22' },
    ]);
  });

  test('an endpoint is "Unknown" only if there is no other', () => {
    const bare = parse(formatOcsf(storedEvent('ACCOUNTING_LOG_ALL', { ownerId: 1 })));
    expect(bare).toMatchObject({ src_endpoint: { name: 'Unknown' } });
    const byPoint = parse(formatOcsf(storedEvent('ACCOUNTING_LOG_ALL', { ownerId: 1, nasIdentifier: 'ap' })));
    expect(byPoint).not.toHaveProperty('src_endpoint');
  });

  test('the subject of a credential is its entity, and nobody acted', () => {
    const document = parse(formatOcsf(EVENT_OF_KIND.credential));
    expect(document).toMatchObject({ entity: { name: 'jane', type: 'Credential' } });
    expect(document).not.toHaveProperty('actor');
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
