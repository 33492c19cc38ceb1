import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { followGaps, type Doubt } from '../store/gaps.ts';
import { messageTypeOf, type Change } from './plan.ts';

/**
 * Creates a function to call after each check of the subscriptions of a source. It records since when a subscription is
 * off, or sends elsewhere or with another secret: since the check before, or else since the last delivery. `onBegun`
 * receives what the check before did not find.
 */
export function createDoubtRecorder(
  db: Db,
  logger: Logger,
  onBegun: (source: string, begun: readonly Doubt[]) => Promise<void> = async () => undefined,
): (source: string, changes: readonly Change[]) => Promise<void> {
  const checkedAt = new Map<string, Date>();
  return async (source, changes) => {
    const now = new Date();
    const since = checkedAt.get(source);
    const doubts = changes.flatMap((change) => {
      const doubt = doubtOf(change);
      return doubt === undefined ? [] : [{ ...doubt, source, messageType: messageTypeOf(change), since }];
    });
    try {
      const reasons = ['subscription off', 'subscription changed'] as const;
      await followGaps(db, { source, reasons }, doubts, now, (begun) => onBegun(source, begun));
      checkedAt.set(source, now);
    } catch (error) {
      logger.warn({ source, err: error }, `can't record the state of subscriptions: ${describeError(error)}`);
    }
  };
}

/** Why deliveries may have been lost before this change; undefined if the subscription delivered. */
function doubtOf(change: Change): Pick<Doubt, 'reason' | 'detail'> | undefined {
  switch (change.action) {
    case 'create':
      return { reason: 'subscription off', detail: { status: 'missing' } };
    case 'update': {
      const members = change.differences.map(({ member }) => member);
      if (members.includes('status')) {
        return { reason: 'subscription off', detail: { status: change.actual.status } };
      }
      const changed = members.filter((member) => member !== 'application');
      return changed.length === 0 ? undefined : { reason: 'subscription changed', detail: { changed } };
    }
    case 'delete':
      return undefined;
  }
}
