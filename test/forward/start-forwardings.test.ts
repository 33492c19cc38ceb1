import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import type { FollowSettings } from '../../src/config/follow-settings.ts';
import { parseDestinations, type Destination } from '../../src/forward/parse-destinations.ts';
import { startForwardings } from '../../src/forward/start-forwardings.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase({ logs: true });

/** A destination with these settings, which takes everything, and the ids of the users in what it took. */
function collector(name: string, batch: object = {}) {
  const taken: unknown[] = [];
  const [destination] = parseDestinations(
    forwardingSettings({ destinations: [{ name, type: 'file', path: '/nowhere', batch }] }),
  );
  if (destination === undefined) throw new Error('there is no destination');
  const createSender: Destination['createSender'] = () => ({
    async send(messages) {
      taken.push(...messages.map(({ event }) => event.columns['user_id']));
      return [];
    },
    close: async () => void taken.push('closed'),
  });
  return { taken, destination: { ...destination, createSender } };
}

async function store(userId: number): Promise<void> {
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userId })]));
  await untilSeen(test.db);
}

it('a new destination gets what is stored from now on; a changed one, or one that comes back, goes on', async () => {
  await store(1);
  const first = collector('siem');
  const config: { destinations: readonly Destination[] } = { destinations: [first.destination] };
  let apply: () => void | Promise<void> = () => undefined;
  const follow: FollowSettings = (_part, onChange) => {
    apply = onChange;
    return () => undefined;
  };
  const ignore = () => undefined;
  const started = new AsyncDisposableStack();
  onTestFinished(() => started.disposeAsync());
  const logger = pino({ level: 'silent' });
  await startForwardings(
    { db: test.db, config, follow, observer: { sent: ignore, failed: ignore }, logger },
    started,
  );
  await store(2);
  await waitFor(() => first.taken.length > 0);

  const changed = collector('siem', { events: 7 });
  config.destinations = [changed.destination];
  await apply();
  await store(3);
  await waitFor(() => changed.taken.length > 0);

  config.destinations = [];
  await apply();
  await store(4);
  const again = collector('siem');
  const added = collector('archive');
  config.destinations = [again.destination, added.destination];
  await apply();
  await store(5);
  await waitFor(() => again.taken.length > 1 && added.taken.length > 0);
  await started.disposeAsync();
  expect([first, changed, again, added].map(({ taken }) => taken)).toEqual([
    ['2', 'closed'],
    ['3', 'closed'],
    ['4', '5', 'closed'],
    ['5', 'closed'],
  ]);
});
