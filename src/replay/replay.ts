import type { Logger } from 'pino';
import { isMessageType } from '../domain.ts';
import { HttpError } from '../errors.ts';
import { replayDeliveryId } from '../handlers/identity.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import type { Db } from '../store/database.ts';
import { findAccounts, lockQuarantined, resolveAsReplayed } from '../store/quarantine.ts';
import type { LockedQuarantined, Replay } from '../store/quarantine.ts';
import { normalizeSent } from '../ingest/normalize-sent.ts';
import { chooseDecoder } from '../ingest/read-body.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';

/** What a replay works with. */
export interface ReplayContext {
  readonly db: Db;
  readonly logger: Logger;
  /** What a body may inflate to. */
  readonly maxBodyBytes: number;
  /** Ends the wait for a database that is away; the replay then throws OutageError. */
  readonly giveUp: AbortSignal;
}

/**
 * Replays what has these ids, all in memory at once, in the way of a new delivery: read as records, stored in one
 * transaction. Each becomes a delivery whose id is made from its own: a replay that dies before it is remembered
 * and is run again stores nothing twice. What cannot be read again is set aside anew, and the old one is resolved.
 */
export async function replayQuarantined(context: ReplayContext, ids: readonly string[]): Promise<Replay[]> {
  const { db, logger, maxBodyBytes, giveUp } = context;
  return db.transaction().execute(async (trx) => {
    const outcomes = new Map<string, Replay>(
      ids.map((quarantineId) => [quarantineId, { kind: 'unknown', quarantineId }]),
    );
    const replays: { quarantineId: string; delivery: QueuedDelivery }[] = [];
    for (const item of await lockQuarantined(trx, ids)) {
      const quarantineId = item.quarantine_id;
      const known = resolvedBefore(item);
      const read = known ?? (await readAgain(item, maxBodyBytes));
      if ('kind' in read) outcomes.set(quarantineId, read);
      else replays.push({ quarantineId, delivery: read });
    }
    if (replays.length === 0) return [...outcomes.values()];

    const deliveries = replays.map(({ delivery }) => delivery);
    await createBatchStore(db, logger, giveUp)({ deliveries });
    await resolveAsReplayed(
      trx,
      replays.map(({ quarantineId, delivery }) => ({ quarantineId, deliveryId: delivery.deliveryId })),
    );
    const accounts = await findAccounts(
      trx,
      deliveries.map(({ deliveryId }) => deliveryId),
    );
    for (const { quarantineId, delivery } of replays) {
      const { deliveryId } = delivery;
      const account = accounts.get(deliveryId);
      if (account === undefined) throw new Error(`replay ${deliveryId} was stored and is not there`);
      outcomes.set(quarantineId, { kind: 'replayed', quarantineId, deliveryId, ...account });
    }
    return [...outcomes.values()];
  });
}

function resolvedBefore(item: LockedQuarantined): Replay | undefined {
  const { quarantine_id: quarantineId, resolution, resolved_at: resolvedAt, replay_delivery_id } = item;
  if (resolution === null || resolvedAt === null) return undefined;
  return { kind: 'resolved', quarantineId, resolution, resolvedAt, deliveryId: replay_delivery_id };
}

/** The delivery that a new one of the same bytes would be, at the time and from where the first one came. */
async function readAgain(item: LockedQuarantined, maxBodyBytes: number): Promise<QueuedDelivery | Replay> {
  const { quarantine_id: quarantineId, message_type: messageType, content } = item;
  if (!isMessageType(messageType)) {
    return { kind: 'refused', quarantineId, reason: 'what it is of, its message type, is not known' };
  }
  const encoding = item.encoding ?? undefined;
  try {
    const { body } = await normalizeSent(content, encoding, chooseDecoder(encoding), maxBodyBytes);
    return {
      deliveryId: replayDeliveryId(quarantineId),
      source: item.source,
      messageType,
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
