import { describe, expect, test } from 'vitest';
import { fill, WORKLOAD_NAMES, WORKLOADS } from '../../bench/workloads.ts';
import { deliveryToEvents } from '../support/convert.ts';

describe.each(WORKLOAD_NAMES)('workload %s', (name) => {
  const { messageType, records, rows, template } = WORKLOADS[name];
  const now = Date.UTC(2026, 0, 31);

  const events = (number: number, sentAt: number) => {
    const text = fill(template, number, sentAt);
    return deliveryToEvents({
      deliveryId: '019b0000-0000-7000-8000-000000000000',
      source: 'default',
      messageType,
      receivedAt: sentAt,
      origin: 'webhook',
      secretForm: 'bearer',
      bodyBytes: text.length,
      recordCount: records,
      records: text,
      unreadable: [],
    });
  };

  test('gives the rows that are counted on', () => {
    const { events: stored, setAside } = events(1, now);
    expect(stored).toHaveLength(rows);
    expect(setAside).toEqual([]);
  });

  test('fills typed columns, at the time of sending', () => {
    for (const { occurredAt, values } of events(1, now).events) {
      expect(Date.parse(occurredAt)).toBe(now);
      expect(values.filter((value) => value !== null).length).toBeGreaterThan(6);
    }
  });

  test('never sends the same event twice', () => {
    const ids = new Set<string>();
    const bodies = 200;
    for (let number = 1; number <= bodies; number += 1) {
      for (const { eventId } of events(number, now).events) ids.add(eventId);
    }
    for (const { eventId } of events(1, now + 1).events) ids.add(eventId);
    expect(ids.size).toBe((bodies + 1) * rows);
  });
});
