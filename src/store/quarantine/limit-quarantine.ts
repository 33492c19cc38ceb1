import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../server/database.ts';
import { recordAction, SERVICE } from '../access/operator-log.ts';
import { addMonths } from '../partitions/partitioned-tables.ts';
import { onlyRow } from '../server/statement.ts';
import type { Logger } from 'pino';
import { repeatInBackground } from '../../lib/repeat.ts';

export interface QuarantineLimits {
  /** Bytes of one source. */
  readonly maxBytes: number;
  /** Months. Undefined: for ever. */
  readonly months: number | undefined;
}

export interface DroppedContent {
  readonly source: string;
  readonly reason: 'size' | 'age';
  readonly items: number;
  readonly bytes: number;
}

/** Beyond the limit, content is deleted down to this share of it: not again a minute later. */
const LOW_MARK = 0.9;

/** Items whose content one statement deletes. */
const BATCH_ITEMS = 10_000;

/**
 * Deletes the content of quarantined items beyond the limits: first of those that were replayed, then of the oldest.
 * The rows stay, open items as discarded, so that all counts still add up. The operator log records each source with
 * the reason, the number of items and their bytes. It may run in several processes at the same time.
 */
export async function limitQuarantine(
  db: Db,
  now: Date,
  { maxBytes, months }: QuarantineLimits,
): Promise<DroppedContent[]> {
  const dropped: DroppedContent[] = [];
  if (months !== undefined) {
    const before = addMonths(now, -months);
    const isOld = sql<boolean>`received_at < ${before}`;
    for (const { source, bytes } of await sumContent(db, isOld)) {
      const details = { before: before.toISOString(), bytes };
      dropped.push(
        await drop(db, source, 'age', details, sql`select quarantine_id from kept where ${isOld}`),
      );
    }
  }
  // Adding up the sizes reads the whole table, but not its contents.
  const { bytes: all } = await onlyRow<{ bytes: number }>(db)`
    select pg_total_relation_size('quarantine')::float8 as bytes`;
  if (all <= maxBytes) return dropped;
  for (const { source, bytes } of await sumContent(db, sql<boolean>`true`)) {
    if (bytes <= maxBytes) continue;
    const victims = sql`
      select quarantine_id from (
        select quarantine_id, sum(octet_length(content)) over (
          order by resolution is not null, received_at desc, quarantine_id desc
        ) as total
        from kept
      ) as newest where total > ${Math.floor(maxBytes * LOW_MARK)}::bigint`;
    dropped.push(await drop(db, source, 'size', { max_bytes: maxBytes, bytes }, victims));
  }
  return dropped;
}

const sumContent = (db: Db, condition: RawBuilder<boolean>) =>
  db
    .selectFrom('quarantine')
    .select(['source', sql<number>`sum(octet_length(content))::float8`.as('bytes')])
    .where('discarded_bytes', 'is', null)
    .where(condition)
    .groupBy('source')
    .orderBy('source')
    .execute();

async function drop(
  db: Db,
  source: string,
  reason: DroppedContent['reason'],
  details: Readonly<Record<string, unknown>>,
  victims: RawBuilder<unknown>,
): Promise<DroppedContent> {
  const action = {
    operator: SERVICE,
    action: 'quarantine.discard',
    subject: source,
    details: { reason, ...details },
  } as const;
  const counts = await recordAction(
    db,
    action,
    () => deleteContent(db, source, victims),
    (result) => result,
  );
  return { source, reason, ...counts };
}

/** Another process may delete the same: an item counts where its content was still there. */
async function deleteContent(db: Db, source: string, victims: RawBuilder<unknown>) {
  const sums = { items: 0, bytes: 0 };
  for (;;) {
    const { items, bytes } = await onlyRow<{ items: number; bytes: number }>(db)`
      with kept as (
        select quarantine_id, received_at, resolution, content from quarantine
        where source = ${source} and discarded_bytes is null
      ), victims as (${victims} limit ${BATCH_ITEMS}), emptied as (
        update quarantine
        set resolution = coalesce(resolution, 'discarded'), resolved_at = coalesce(resolved_at, now()),
            discarded_bytes = octet_length(content), content = ''
        where quarantine_id in (select quarantine_id from victims) and discarded_bytes is null
        returning discarded_bytes
      )
      select count(*)::float8 as items, coalesce(sum(discarded_bytes), 0)::float8 as bytes from emptied`;
    if (items === 0) return sums;
    sums.items += items;
    sums.bytes += bytes;
  }
}

interface QuarantineUpkeep {
  readonly db: Db;
  /** The settings in force. */
  readonly config: { readonly quarantine: QuarantineLimits };
  readonly onDropped: (dropped: DroppedContent) => void;
  readonly logger: Logger;
}

/** A flood of unreadable bodies may exceed the limits for so long. */
const INTERVAL_MS = 60_000;

/** Deletes quarantined content beyond the limits, now and every minute. */
export function startQuarantineLimits(
  { db, config, onDropped, logger }: QuarantineUpkeep,
  started: AsyncDisposableStack,
): void {
  const work = async () => {
    const deleted = await limitQuarantine(db, new Date(), config.quarantine);
    for (const dropped of deleted) {
      onDropped(dropped);
      logger.warn(dropped, 'quarantined content was deleted because it exceeded a limit');
    }
    return deleted.length > 0 ? 'done' : 'idle';
  };
  repeatInBackground(
    {
      part: 'limits of quarantine',
      failure: 'limits of quarantine were not enforced',
      pauseMs: INTERVAL_MS,
      work,
    },
    logger,
    started,
  );
}
