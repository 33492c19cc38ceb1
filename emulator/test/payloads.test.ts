import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOG_RECORD_SCHEMAS } from '../events/log-schemas.ts';
import { LOG_OF } from '../events/journal.ts';
import { live, setUp, typeOf } from './sending-harness.ts';

/** An emulator that has sent some hundred deliveries, and their records by message type. */
async function recordsByType() {
  const setup = await setUp({ rate: 100 });
  await live(setup, 2500);
  const records = new Map<string, Record<string, unknown>[]>();
  for (const delivery of setup.receiver.received) {
    records.set(typeOf(delivery), [...(records.get(typeOf(delivery)) ?? []), ...delivery.records]);
  }
  return { ...setup, records };
}

/** What a record says of who, what and when, in its webhook or its log form. */
function comparable(record: Record<string, unknown>): unknown {
  const { timeStamp, timestamp = timeStamp, userId, user_id = userId, orgId, org_id = orgId } = record;
  const { userName, username = userName, description, code, id } = record;
  return {
    timestamp,
    user_id,
    org_id,
    username,
    description: String(description).replace(/:.*/, ''),
    code,
    id: code === undefined ? id : undefined,
  };
}

describe('the payload', () => {
  const AUDIT = z.strictObject({
    ownerId: z.int(),
    orgId: z.int(),
    timeStamp: z.int(),
    id: z.null(),
    userId: z.int(),
    code: z.literal([10001, 10002, 20001, 40001, 40003]),
    category: z.literal([1, 2, 3]),
    description: z.string().min(1),
    userName: z.string(),
    vhmName: z.string(),
    orgName: z.string().nullable(),
    deviceCount: z.int().nullable(),
    hostNames: z.array(z.string()).nullable(),
    config: z.object({ network_policy_id: z.string().nullable(), complete: z.boolean() }).nullable(),
    deviceIds: z.array(z.int()).nullable(),
  });
  const seen = {
    seenTime: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$/),
    seenEpoch: z.int(),
  };
  const AP_CENTRIC = z.strictObject({
    ownerId: z.string().regex(/^\d+$/),
    apMac: z.string().regex(/^[0-9a-f]{12}$/),
    observations: z
      .array(
        z.strictObject({
          ...seen,
          clientMac: z.string().regex(/^[0-9a-f]{12}$/),
          ipv4: z.ipv4(),
          ipv6: z.null(),
          ssid: z.string().nullable(),
          rssi: z.int().negative(),
          manufacturer: z.string(),
          os: z.string(),
          lat: z.number(),
          lng: z.number(),
          unc: z.number(),
          x: z.number().min(-4).max(64),
          y: z.number().min(-4).max(44),
        }),
      )
      .min(1),
  });
  const CLIENT_CENTRIC = z.strictObject({
    ...seen,
    clientMac: z.string().regex(/^[0-9A-F]{12}$/),
    ipv4: z.ipv4(),
    lat: z.number(),
    lng: z.number(),
    deviceObservers: z
      .array(
        z.strictObject({
          apMac: z.string().regex(/^[0-9A-F]{12}$/),
          rssi: z.int().negative(),
          locationIdHierarchy: z.array(z.int()).length(3),
        }),
      )
      .min(1),
  });

  it('of audit and location events has the documented members, and only those', async () => {
    const { records } = await recordsByType();
    const audit = records.get('AUDIT_LOG_ALL')?.map((record) => AUDIT.parse(record));
    expect(new Set(audit?.map(({ code, category }) => `${code} ${category}`))).toEqual(
      new Set(['10001 1', '10002 1', '20001 2', '40001 3', '40003 3']),
    );
    expect(records.get('LOCATION_AP_CENTRIC')?.map((record) => AP_CENTRIC.parse(record))).not.toEqual([]);
    expect(records.get('LOCATION_CLIENT_CENTRIC')?.map((record) => CLIENT_CENTRIC.parse(record))).not.toEqual(
      [],
    );
  });

  it('of logs has owner, organization, time and the published members in camelCase', async () => {
    const { records } = await recordsByType();
    for (const [type, kind] of Object.entries(LOG_OF)) {
      if (kind === 'audit') continue;
      const published = Object.keys(LOG_RECORD_SCHEMAS[kind].shape);
      const expected = published
        .filter((name) => name !== 'org_id' && name !== 'timestamp')
        .map((name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
      for (const record of records.get(type) ?? [{}]) {
        expect(Object.keys(record).toSorted()).toEqual(
          [...expected, 'ownerId', 'orgId', 'timeStamp'].toSorted(),
        );
      }
    }
  });

  it('is listed by /logs, every record of it', async () => {
    const { records, call, clock } = await recordsByType();
    for (const [type, kind] of Object.entries(LOG_OF)) {
      const listed: unknown[] = [];
      const schema = z.object({
        pagination: z.looseObject({ total: z.int() }),
        data: z.array(z.record(z.string(), z.unknown())),
      });
      for (let page = 1; ; page += 1) {
        const span = `startTime=${clock.now() - 60_000}&endTime=${clock.now()}`;
        const answer = await call('GET', `/logs/${kind}?limit=100&page=${page}&${span}`);
        const { data, pagination } = schema.parse(answer.body);
        const strict = z.strictObject(LOG_RECORD_SCHEMAS[kind].shape);
        listed.push(...data.map((record) => comparable(strict.parse(record))));
        if (page * 100 >= pagination.total) break;
      }
      const sent = records.get(type)?.map(comparable) ?? [];
      expect(sent.length).toBeGreaterThan(5);
      for (const record of sent) expect(listed).toContainEqual(record);
    }
  });
});
