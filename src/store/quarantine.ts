import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { MessageType, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { Db, Trx } from './database.ts';
import { arrayLiteral, insertRows, insertStatement } from './insert-rows.ts';
import type { Column } from './insert-rows.ts';
import type { Resolution, Tables } from './tables.ts';

/** Something set aside: where it came from, why, and its bytes as they came. */
export interface NewQuarantined {
  readonly quarantineId: string;
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly reason: string;
  readonly content: Buffer;
  /** Content-Encoding of the bytes, of a whole body. */
  readonly encoding: string | null;
  /** How many identical ones of the same delivery stand before it. */
  readonly twinsBefore: number;
}

const COLUMNS: readonly Column<NewQuarantined>[] = [
  { name: 'quarantine_id', type: 'uuid', value: (row) => row.quarantineId },
  { name: 'delivery_id', type: 'uuid', value: (row) => row.deliveryId },
  { name: 'source', type: 'text', value: (row) => row.source },
  { name: 'message_type', type: 'text', value: (row) => row.messageType },
  { name: 'received_at', type: 'timestamptz', value: (row) => row.receivedAt },
  { name: 'reason', type: 'text', value: (row) => row.reason },
  { name: 'content', type: 'bytea', value: (row) => `\\x${row.content.toString('hex')}` },
  { name: 'encoding', type: 'text', value: (row) => row.encoding },
  { name: 'twins_before', type: 'integer', value: (row) => row.twinsBefore },
];

const STATEMENT = insertStatement('quarantine', COLUMNS);

/** Sets bytes or records aside. What another run of the same job has set aside stays as it is. */
export async function insertQuarantine(trx: Trx, rows: readonly NewQuarantined[]): Promise<void> {
  if (rows.length > 0) await insertRows(trx, STATEMENT, COLUMNS, rows);
}

/** Something in quarantine with its bytes, and how its delivery had come. */
export type LockedQuarantined = Selectable<
  Tables['quarantine'] & Pick<Tables['deliveries'], 'origin' | 'secret_form'>
>;

/** Reads what has these ids, and keeps others from resolving it until the transaction ends. */
export async function lockQuarantined(trx: Trx, ids: readonly string[]): Promise<LockedQuarantined[]> {
  return trx
    .selectFrom('quarantine')
    .innerJoin('deliveries', 'deliveries.delivery_id', 'quarantine.delivery_id')
    .selectAll('quarantine')
    .select(['deliveries.origin', 'deliveries.secret_form'])
    .where('quarantine_id', 'in', ids)
    .orderBy('quarantine_id')
    .forUpdate('quarantine')
    .execute();
}

/** Remembers as which delivery each was replayed. */
export async function resolveAsReplayed(
  trx: Trx,
  replays: readonly { readonly quarantineId: string; readonly deliveryId: string }[],
): Promise<void> {
  const ids = arrayLiteral(replays.map(({ quarantineId }) => quarantineId));
  const deliveryIds = arrayLiteral(replays.map(({ deliveryId }) => deliveryId));
  await sql`
    update quarantine set resolution = 'replayed', resolved_at = now(), replay_delivery_id = replays.delivery_id
    from unnest(${ids}::uuid[], ${deliveryIds}::uuid[]) as replays (id, delivery_id)
    where quarantine_id = replays.id`.execute(trx);
}

/** Empties the bytes of what has these ids and is open; the rows stay. Returns how many there were. */
export async function discardQuarantined(db: Db, ids: readonly string[]): Promise<number> {
  const { numAffectedRows } = await sql`
    update quarantine
    set resolution = 'discarded', resolved_at = now(), discarded_bytes = octet_length(content), content = ''
    where quarantine_id = any(${arrayLiteral(ids)}::uuid[]) and resolution is null`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** What a replay's delivery came to. */
export interface ReplayTally {
  readonly events: number;
  readonly duplicates: number;
  /** What could not be read this time either, or not be stored: where it lies now, and why. */
  readonly again: readonly { readonly quarantineId: string; readonly reason: string }[];
}

/** What these deliveries came to, by id. */
export async function findReplayTallies(
  db: Db,
  deliveryIds: readonly string[],
): Promise<ReadonlyMap<string, ReplayTally>> {
  const { rows } = await sql<{ id: string; account: ReplayTally }>`
    select delivery_id as id, jsonb_build_object(
      'events', event_count, 'duplicates', duplicate_count, 'again', coalesce((
        select jsonb_agg(jsonb_build_object('quarantineId', quarantine_id, 'reason', reason) order by quarantine_id)
        from quarantine where quarantine.delivery_id = deliveries.delivery_id
      ), '[]')
    ) as account
    from deliveries where delivery_id = any(${arrayLiteral(deliveryIds)}::uuid[])`.execute(db);
  return new Map(rows.map(({ id, account }) => [id, account]));
}

/** What came of the replay of something quarantined. */
export type Replay = { readonly quarantineId: string } & (
  | ({ readonly kind: 'replayed'; readonly deliveryId: string } & ReplayTally)
  /** It had been resolved before; nothing was done. */
  | {
      readonly kind: 'resolved';
      readonly resolution: Resolution;
      readonly resolvedAt: Date;
      readonly deliveryId: string | null;
    }
  /** It cannot be taken now, as a new delivery could not, and stays open. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' }
);

/** What replays came to; `left` stayed open, or is not there. */
export interface ReplaySums {
  readonly replayed: number;
  readonly events: number;
  readonly duplicates: number;
  readonly again: number;
  readonly left: number;
}

export const NO_REPLAYS: ReplaySums = { replayed: 0, events: 0, duplicates: 0, again: 0, left: 0 };

/** The sums with one replay more. */
export function addReplay(sums: ReplaySums, replay: Replay): ReplaySums {
  switch (replay.kind) {
    case 'replayed':
      return {
        replayed: sums.replayed + 1,
        events: sums.events + replay.events,
        duplicates: sums.duplicates + replay.duplicates,
        again: sums.again + replay.again.length,
        left: sums.left,
      };
    case 'refused':
    case 'unknown':
      return { ...sums, left: sums.left + 1 };
    case 'resolved':
      return sums;
  }
}
