import { expect, it, test } from 'vitest';
import { FIELDS } from '../../src/events/message-types.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';

/** The columns of the only event of a record that have a value. */
function columnsOf(record: object): Record<string, string> {
  const { events, setAside } = deliveryToEvents(queuedDelivery('ALERT', [record]));
  expect([events.length, setAside]).toEqual([1, []]);
  const columns: Record<string, string> = {};
  for (const [index, { column }] of FIELDS.ALERT.entries()) {
    const value = events[0]?.values[index];
    if (typeof value === 'string') columns[column] = value;
  }
  return columns;
}

test.each([
  [{ source: { source_id: 'd1', source_name: 'ap-1', source_type: 'DEVICE', source_type_id: '4' } }],
  [{ source: { sourceId: 'd1', sourceName: 'ap-1', sourceType: 'DEVICE', sourceTypeId: 4 } }],
  [{ source_id: 'd1', source_name: 'ap-1', source_type: 'DEVICE', source_type_id: '4' }],
  [{ source: null, sourceId: 'd1', sourceName: 'ap-1', sourceType: 'DEVICE', sourceTypeId: '4' }],
])('the source of an alert is read from its object, or from the alert: %j', (record) => {
  expect(columnsOf(record)).toEqual({
    alert_source_id: 'd1',
    alert_source_name: 'ap-1',
    alert_source_type: 'DEVICE',
    alert_source_type_id: '4',
  });
});

test.each([[{ source: 'ap-1' }], [{ source: ['ap-1'] }], [{ source: {} }], [{}]])(
  'an alert without a readable source has none: %j',
  (record) => {
    expect(columnsOf(record)).toEqual({});
  },
);

it('takes nothing else from the source, which has an id, a time and an owner of its own', () => {
  const source = { id: 'd1', timestamp: 1_769_846_400_123, owner_id: 7, org_id: 8, summary: 'x' };
  const record = { source, site_id: 5 };
  expect(columnsOf(record)).toEqual({ site_id: '5' });
  const [event] = deliveryToEvents(queuedDelivery('ALERT', [record])).events;
  expect(event).toMatchObject({ ownerId: null, orgId: null, occurredAt: event?.receivedAt });
});
