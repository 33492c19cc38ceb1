import { expect, it } from 'vitest';
import type { z } from 'zod';
import { OWN_TYPES } from '../../src/events/domain.ts';
import { createBatcher, DEFAULT_LIMITS } from '../../src/forward/batch-events.ts';
import { destinationFilterSchema } from '../../src/forward/destination-filter.ts';
import type { LoggedEvent } from '../../src/events/stored-event.ts';
import { EVENT_OF_KIND, sampleEvent, storedEvent } from './formats/stored-events.ts';

const own = (sentType: string, origin: 'xiq-sink' | 'webhook'): LoggedEvent => ({
  ...storedEvent('OTHER', { description: sentType }),
  origin,
  columns: { sent_type: sentType },
  position: 1,
});

const EVENTS: Readonly<Record<string, LoggedEvent>> = {
  audit: { ...sampleEvent('AUDIT_LOG_ALL'), position: 0 },
  checkpoint: own(OWN_TYPES.checkpoint, 'xiq-sink'),
  forged: own(OWN_TYPES.checkpoint, 'webhook'),
  subscription: own(OWN_TYPES.subscription, 'xiq-sink'),
  alert: { ...EVENT_OF_KIND.ruleAlert, position: 2 },
};

async function sentTo(settings: z.input<typeof destinationFilterSchema>): Promise<string[]> {
  const filter = destinationFilterSchema.parse(settings);
  const batcher = createBatcher({ name: 'siem', filter, format: () => 'text', limits: DEFAULT_LIMITS });
  const batches = await Array.fromAsync(batcher(Object.values(EVENTS), 9));
  const sent = new Set(batches.flatMap(({ messages }) => messages.map(({ event }) => event)));
  return Object.entries(EVENTS).flatMap(([name, event]) => (sent.has(event) ? [name] : []));
}

it('sends checkpoints whatever the filter is, but for alerts alone', async () => {
  expect(await sentTo({})).toEqual(Object.keys(EVENTS));
  expect(await sentTo({ families: ['audit'] })).toEqual(['audit', 'checkpoint']);
  expect(await sentTo({ rule_alerts: 'only' })).toEqual(['alert']);
  expect(await sentTo({ rule_alerts: 'named' })).toEqual(['audit', 'checkpoint', 'forged', 'subscription']);
});

it.each([
  ['events', { events: 2 }, ['a', 'b', 'c'], [['a', 'b'], ['c']], [2, 9]],
  ['bytes, which it may reach', { bytes: 4 }, ['ab', 'cd', 'e'], [['ab', 'cd'], ['e']], [2, 9]],
  ['bytes of UTF-8', { bytes: 4 }, ['ü', 'ü', 'ü'], [['ü', 'ü'], ['ü']], [2, 9]],
  [
    'bytes, but for one long text alone',
    { bytes: 4 },
    ['abcde', 'a', 'abcde', 'b'],
    [['abcde'], ['a'], ['abcde'], ['b']],
    [1, 2, 3, 9],
  ],
] as const)('limits a batch in %s', async (_what, limits, texts, expected, positions) => {
  const events = texts.map((text, position) => ({ ...storedEvent('OTHER', { text }), position }));
  const batcher = createBatcher({
    name: 'siem',
    filter: destinationFilterSchema.parse({}),
    format: ({ payload }) => String(payload['text']),
    limits: { ...DEFAULT_LIMITS, ...limits },
  });
  const batches = await Array.fromAsync(batcher(events, 9));
  expect(batches.map(({ messages }) => messages.map(({ text }) => text))).toEqual(expected);
  expect(batches.map(({ position }) => position)).toEqual(positions);
});
