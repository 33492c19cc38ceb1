import type { Logger } from 'pino';
import { isMessageType } from '../events/domain.ts';
import { describeError, HttpError, OutageError } from '../lib/errors.ts';
import { replayDeliveryId } from '../handlers/identity.ts';
import { runTransaction } from '../handlers/run-transaction.ts';
import { storeDeliveries } from '../handlers/store-deliveries.ts';
import { normalizeSent } from '../ingest/normalize-sent.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import type { Db, Trx } from '../store/server/database.ts';
import { MonthsOnDemand } from '../store/partitions/months-on-demand.ts';
import { beginStoring } from '../store/events/insert-events.ts';
import { findReplayTallies, lockQuarantined, resolveAsReplayed } from '../store/quarantine/quarantine.ts';
import type { LockedQuarantined, Replay } from '../store/quarantine/quarantine.ts';
import type { Scope } from '../store/server/scope.ts';
import type { Quarantined } from '../store/quarantine/search-quarantine.ts';

export interface ReplayContext {
  readonly db: Db;
  /** An item of a source outside the scope is unknown. */
  readonly scope: Scope;
  readonly logger: Logger;
  /** The largest size that a body may inflate to. */
  readonly maxBodyBytes: number;
  /** Ends the wait for a database that is away; the replay then throws OutageError. */
  readonly giveUp: AbortSignal;
}

/**
 * Replays the items with these ids, all of them in memory at once, as new deliveries: each is read as records, stored
 * and marked as replayed in one transaction, on one connection. The id of an item's delivery is made from the item's
 * own, so no replay stores an event twice. Records that still cannot be stored are quarantined again, and the old item counts
 * as replayed. An item that cannot be read at all, or causes an unforeseen error, stays open.
 */
export async function replayQuarantined(context: ReplayContext, ids: readonly string[]): Promise<Replay[]> {
  try {
    const months = new MonthsOnDemand();
    return await runTransaction(context, (trx, isolate) => replayWithin(trx, context, ids, isolate, months));
  } catch (error) {
    if (error instanceof OutageError) throw error;
    context.logger.error({ err: error, ids }, 'quarantined items could not be replayed together');
    const [id, ...others] = ids;
    if (id !== undefined && others.length === 0) {
      return [{ kind: 'refused', quarantineId: id, reason: describeError(error) }];
    }
  }
  const replays: Replay[] = [];
  for (const id of ids) replays.push(...(await replayQuarantined(context, [id])));
  return replays;
}

/** The transaction must hold no second connection: concurrent replays would wait for each other's. */
async function replayWithin(
  trx: Trx,
  { scope, maxBodyBytes }: ReplayContext,
  ids: readonly string[],
  isolate: boolean,
  months: MonthsOnDemand,
): Promise<Replay[]> {
  const outcomes = new Map<string, Replay>(
    ids.map((quarantineId) => [quarantineId, { kind: 'unknown', quarantineId }]),
  );
  const replays: { quarantineId: string; delivery: QueuedDelivery; deliveryId: string }[] = [];
  // Before the items are locked, which gives the transaction its id.
  await beginStoring(trx);
  for (const item of await lockQuarantined(trx, scope, ids)) {
    const quarantineId = item.quarantine_id;
    const read = resolvedBefore(item) ?? (await readAgain(item, maxBodyBytes));
    if ('kind' in read) outcomes.set(quarantineId, read);
    else replays.push({ quarantineId, delivery: read, deliveryId: read.deliveryId });
  }
  if (replays.length === 0) return [...outcomes.values()];

  await storeDeliveries(
    trx,
    replays.map(({ delivery }) => delivery),
    isolate,
    months,
  );
  await resolveAsReplayed(trx, replays);
  const tallies = await findReplayTallies(
    trx,
    scope,
    replays.map(({ deliveryId }) => deliveryId),
  );
  for (const { quarantineId, deliveryId } of replays) {
    const tally = tallies.get(deliveryId);
    if (tally === undefined)
      throw new Error(`delivery ${deliveryId} of a replay is missing after it was stored`);
    outcomes.set(quarantineId, { kind: 'replayed', quarantineId, deliveryId, ...tally });
  }
  return [...outcomes.values()];
}

function resolvedBefore(item: LockedQuarantined): Replay | undefined {
  const { quarantine_id: quarantineId, resolution, resolved_at: resolvedAt, replay_delivery_id } = item;
  if (resolution === null || resolvedAt === null) return undefined;
  return { kind: 'resolved', quarantineId, resolution, resolvedAt, deliveryId: replay_delivery_id };
}

/** The delivery that these bytes make now, with the time and the origin of the first delivery. */
async function readAgain(item: LockedQuarantined, maxBodyBytes: number): Promise<QueuedDelivery | Replay> {
  const { quarantine_id: quarantineId, message_type: messageType, content } = item;
  if (!isMessageType(messageType)) {
    return { kind: 'refused', quarantineId, reason: 'its message type is unknown' };
  }
  try {
    const sent = { sent: content, encoding: item.encoding ?? undefined, messageType, source: item.source };
    const { body, problem } = await normalizeSent(sent, maxBodyBytes);
    // A second copy of it would say nothing more.
    if (problem !== undefined) return { kind: 'refused', quarantineId, reason: problem };
    return {
      deliveryId: replayDeliveryId(quarantineId),
      source: item.source,
      messageType,
      sentType: item.sent_type ?? undefined,
      receivedAt: item.received_at.getTime(),
      origin: item.origin,
      secretForm: item.secret_form,
      bodyBytes: content.length,
      twinsBefore: item.twins_before,
      ...body,
    };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { kind: 'refused', quarantineId, reason: error.message };
  }
}

/** Bytes replayed in one transaction; a larger item goes alone. More gains nothing (see `BatchStore`). */
const BATCH_BYTES = 1024 * 1024;

/** The ids of a page in groups to be replayed together: as many as need no more than 1 MiB once they are inflated. */
export function* groupByBytes(page: readonly Quarantined[], maxBodyBytes: number): Generator<string[]> {
  let group: string[] = [];
  let size = 0;
  for (const { quarantine_id, bytes, encoding } of page) {
    const inflated = encoding === null ? bytes : maxBodyBytes;
    if (group.length > 0 && size + inflated > BATCH_BYTES) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(quarantine_id);
    size += inflated;
  }
  if (group.length > 0) yield group;
}
