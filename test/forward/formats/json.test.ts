import { expect, test } from 'vitest';
import { z } from 'zod';
import { formatJson } from '../../../src/forward/formats/json.ts';
import { FIELDS } from '../../../src/events/message-types.ts';
import { EVENT_OF_KIND, EVENTS } from './stored-events.ts';

const anyObject = z.record(z.string(), z.unknown());

const ENVELOPE = [
  'id',
  'event_id',
  'delivery_id',
  'source',
  'message_type',
  'occurred_at',
  'received_at',
  'owner_id',
  'org_id',
  'origin',
];

test.each(EVENTS.map((event) => [event.messageType, event] as const))(
  '%s is one line with envelope, every typed column and the payload',
  (messageType, event) => {
    const line = formatJson(event);
    expect(line).not.toContain('\n');
    const columns = FIELDS[messageType].map(({ column }) => column);
    expect(Object.keys(anyObject.parse(JSON.parse(line)))).toEqual([...ENVELOPE, ...columns, 'payload']);
    expect(JSON.parse(line)).toMatchObject({ event_id: event.eventId, occurred_at: event.occurredAt });
    expect(line).toContain(`"payload":${JSON.stringify(event.payload)}`);
  },
);

test('ids are text, measures numbers, times ISO 8601, config is JSON', () => {
  expect(JSON.parse(formatJson(EVENT_OF_KIND.configuration))).toMatchObject({
    user_id: '2345678',
    device_ids: ['11'],
    config: { ppsk: { name: 'guest' } },
    record_id: null,
  });
  expect(JSON.parse(formatJson(EVENT_OF_KIND.location))).toMatchObject({ lat: 37.4, rssi: -67 });
  expect(JSON.parse(formatJson(EVENT_OF_KIND.accountingStop))).toMatchObject({
    acct_stop_time: '2026-01-31T07:59:00.000Z',
    client_mac: '0a:1b:2c:3d:4e:5f',
  });
});
