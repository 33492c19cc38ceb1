import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFormat } from '../../../src/forward/formats/formats.ts';
import { formatText } from '../../../src/forward/formats/text.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText, sampleEvent, storedEvent } from './stored-events.ts';

test.each([
  [
    'login',
    /^2026-01-31 08:00:00 UTC Login: User admin@example\.com logged in \(user admin@example\.com, source \S+, event \S+\)$/,
  ],
  [
    'authentication',
    /^\S+ \S+ UTC Network login accepted: Access-Accept · Guest WiFi · EAP-TLS \(user \S+, client 0a:1b:2c:3d:4e:5f, /,
  ],
  [
    'ruleAlert',
    /UTC Alert, severity high: Many failed logins, user_name jane@example\.com, client_mac aa:bb:cc:dd:ee:ff: 2 events from \S+ to \S+ \(source/,
  ],
  ['alert', /UTC Alert: .* · /],
] as const)('%s is a sentence', (kind, expected) => {
  expect(formatText(EVENT_OF_KIND[kind])).toMatch(expected);
});

test('a description is there once, and an event without any is its title', () => {
  const line = formatText(sampleEvent('AUDIT_LOG_ALL', { description: 'SSID lobby was changed' }));
  expect(line.split('SSID lobby was changed')).toHaveLength(2);
  expect(formatText(storedEvent('AUDIT_LOG_ALL', {}))).toMatch(/UTC [^:]+ \(source/);
});

test('every event is one line that ends with its source and id, without hidden characters', () => {
  const hostile = fc.constantFrom('\r\n', '\u202e', '\0', '\u2028', 'a\nb', ')', '😀', 'x'.repeat(1_000));
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...EVENTS), eventsOfAnyText(hostile)), (event) => {
      const line = formatText(event);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
      expect(line.endsWith(`source ${event.source}, event ${event.eventId})`)).toBe(true);
    }),
  );
});

test('a secret in a description is hidden', () => {
  const event = sampleEvent('AUDIT_LOG_ALL', { description: 'password hunter2 was set' });
  expect(createFormat('text', DEFAULT_REDACTION_RULES)(event)).not.toContain('hunter2');
});
