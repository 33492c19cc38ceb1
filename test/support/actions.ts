import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import { createEventHub } from '../../src/console/live/event-hub.ts';
import { liveArea } from '../../src/console/live/live-area.ts';
import { quarantineArea } from '../../src/console/quarantine/quarantine-area.ts';
import { parseDestinations, type Destination } from '../../src/forward/parse-destinations.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import type { Db } from '../../src/store/server/database.ts';
import { addDestination, checkpoint } from '../../src/store/destinations/destinations.ts';
import { takeLease } from './lease.ts';
import { listActions, recordAction } from '../../src/store/access/operator-log.ts';
import { eraseRows, type Erasable, type ErasureGrounds } from '../../src/store/seal/erase.ts';
import { startAdmin, type RunningAdmin } from './admin.ts';
import { outputsForTests } from './outputs.ts';
import { auditRecord, queuedDelivery } from './deliveries.ts';
import { forwardingSettings } from './forwarding-settings.ts';

const logger = pino({ level: 'silent' });

/** Stores deliveries in one transaction, as a worker does. */
export const storeDeliveries = (db: Db, ...deliveries: QueuedDelivery[]) =>
  new BatchStore(db, logger, new AbortController().signal).add({ deliveries });

/** Stores a delivery of audit records, one for the members of each. */
export const storeAudits = (db: Db, ...records: readonly Record<string, unknown>[]) =>
  storeDeliveries(
    db,
    queuedDelivery(
      'AUDIT_LOG_ALL',
      records.map((members) => auditRecord(members)),
    ),
  );

/** A delivery of one unreadable body, whatever the body says. */
export const unreadableDelivery = (body: string | Buffer, overrides: Partial<QueuedDelivery> = {}) =>
  queuedDelivery('AUDIT_LOG_ALL', [], {
    recordCount: 1,
    unreadable: [{ reason: 'the body is not JSON', content: Buffer.from(body).toString('base64') }],
    ...overrides,
  });

/** A destination that writes a file into this directory. */
export function fileDestination(name: string, directory: string): Destination {
  const file = { name, type: 'file', path: path.join(directory, `${name}.jsonl`) };
  const [destination] = parseDestinations(forwardingSettings({ destinations: [file] }));
  if (destination === undefined) throw new Error('there is no destination');
  return destination;
}

/** What a file destination has taken. */
export const takenBy = (name: string, directory: string) =>
  readFile(path.join(directory, `${name}.jsonl`), 'utf8');

/** Writes down that a destination has refused every stored event. */
export async function refuseAll(db: Db, name: string): Promise<void> {
  const start = 0;
  await addDestination(db, name, start);
  const lease = await takeLease(db, name);
  const events = await db.selectFrom('events').selectAll().execute();
  await checkpoint(db, [
    {
      ...lease,
      position: start,
      sent: 0,
      rejected: events.map((event) => ({
        eventId: event.event_id,
        occurredAt: event.occurred_at.toISOString(),
        messageType: event.message_type,
        reason: 'no such field',
      })),
      rejectedInRow: events.length,
    },
  ]);
}

/** The admin listener with live events, deliveries, quarantine and destinations. */
export function startActions(
  db: Db,
  {
    destinations = [],
    maxWatchers = 50,
  }: { destinations?: readonly Destination[]; maxWatchers?: number } = {},
): Promise<RunningAdmin> {
  return startAdmin(
    [
      liveArea({ db, hub: createEventHub(db, { intervalMs: 50, maxWatchers, batch: 5 }) }),
      deliveriesArea({ db }),
      quarantineArea({ db, maxBodyBytes: 1024 * 1024, logger }),
      outputsForTests(db, destinations).destinations,
    ],
    db,
  );
}

/** The newest entry of the operator log. */
export async function lastAction(db: Db): Promise<unknown> {
  const [entry] = await listActions(db, { limit: 1 });
  return entry;
}

/** Erases as the command does: the operator log has the request. Returns the id of the erasure. */
export const eraseOnRecord = (db: Db, grounds: ErasureGrounds, erasable: Erasable) =>
  recordAction(
    db,
    { operator: { name: grounds.operator, via: 'command' }, action: 'events.erase' },
    () => eraseRows(db, grounds, erasable),
    (erasure) => ({ erasure }),
  );
