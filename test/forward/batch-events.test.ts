import { expect, it } from 'vitest';
import { OWN_TYPES } from '../../src/domain.ts';
import { createBatcher, DEFAULT_LIMITS } from '../../src/forward/batch-events.ts';
import type { DestinationFilter } from '../../src/forward/destination-filter.ts';
import type { LoggedEvent } from '../../src/store/stored-event.ts';
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

async function sentTo(filter: DestinationFilter): Promise<string[]> {
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
