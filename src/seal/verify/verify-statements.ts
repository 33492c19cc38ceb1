import type { Db } from '../../store/server/database.ts';
import { readLeafHashes, readSalts } from '../../store/seal/read-seals.ts';
import { monthOf, type DroppedMonth } from '../../store/seal/excuses.ts';
import { readingSealed } from '../../store/seal/sealed-rows.ts';
import { compareDeliveries } from '../../store/seal/sealed-deliveries.ts';
import type { DeliveryFilter, DifferentDelivery } from '../../store/seal/sealed-deliveries.ts';
import { findQuarterDifferences } from '../../store/seal/sealed-quarters.ts';
import {
  countQueuedStatements,
  findForbiddenChanges,
  findStatedDifferences,
  findStrayStatements,
  readStatements,
  type SealedStatement,
} from '../../store/seal/statements.ts';
import { STATEMENT_KINDS } from '../../store/server/schema/seal-tables.ts';
import type { Report, VerifyFinding } from './finding.ts';
import { hashAt, leafHash } from '../merkle-tree.ts';
import { entryAt, saltAt } from '../stored-tree.ts';
import { erasureOf, explainErasure, type GoneReasons, type Leaves, type RowResult } from './verify-rows.ts';

/** Compares statements with their leaves, and the deliveries of such as are tiles of them with their hashes. */
export async function checkStatements(
  db: Db,
  { leaf, count }: Leaves,
  filter: DeliveryFilter,
  reasons: GoneReasons,
): Promise<RowResult> {
  const leaves = await readLeafHashes(db, leaf, leaf + count);
  const salts = await readSalts(db, leaf, leaf + count);
  const found = new Map((await readStatements(db, leaf, leaf + count)).map((one) => [one.leaf, one]));
  const findings: VerifyFinding[] = [];
  const tiles: SealedStatement[] = [];
  let intact = 0;
  for (let index = 0; index < count; index += 1) {
    const at = leaf + index;
    const statement = found.get(at);
    const erasure = statement === undefined ? erasureOf(at, saltAt(salts, index), reasons.erased) : undefined;
    if (erasure !== undefined) {
      findings.push({ ...explainErasure(erasure), subject: 'leaves', leaves: [at, at + 1] });
    } else if (statement === undefined) {
      const detail = 'its leaf has no statement in the table log_statements';
      findings.push({ state: 'MISSING', subject: 'leaves', detail, leaves: [at, at + 1] });
    } else if (
      !leafHash(entryAt(salts, index, statement.record)).equals(hashAt(leaves, index)) ||
      !isNamedBy(statement.record, statement.kind, statement.key)
    ) {
      const { kind, key } = statement;
      const detail = 'its sealed state differs from its leaf';
      findings.push({ state: 'ALTERED', subject: kind, key, detail, leaves: [at, at + 1] });
    } else if (statement.kind === 'deliveries') tiles.push(statement);
    else intact += 1;
  }
  const deliveries = await checkDeliveries(db, tiles, filter, reasons.droppedDeliveries);
  return { leaves, intact: intact + deliveries.intact, findings: [...findings, ...deliveries.findings] };
}

/** Tiles of deliveries that are compared by one statement. */
const TILES_AT_ONCE = 32;

async function checkDeliveries(
  db: Db,
  tiles: readonly SealedStatement[],
  filter: DeliveryFilter,
  dropped: readonly DroppedMonth[],
) {
  const findings: VerifyFinding[] = [];
  let intact = 0;
  for (let done = 0; done < tiles.length; done += TILES_AT_ONCE) {
    const some = tiles.slice(done, done + TILES_AT_ONCE);
    const records = some.map(({ record }) => record);
    const { compared, different } = await readingSealed(db, (trx) => compareDeliveries(trx, records, filter));
    intact += compared - different.length;
    findings.push(...different.map((one) => describeDelivery(one, some[one.tile]?.leaf ?? 0, dropped)));
  }
  return { intact, findings };
}

function describeDelivery(
  { deliveryId, receivedAt, source }: DifferentDelivery,
  leaf: number,
  dropped: readonly DroppedMonth[],
): VerifyFinding {
  const about = { subject: 'delivery', deliveryId, leaves: [leaf, leaf + 1] } as const;
  if (source !== null) return { state: 'ALTERED', detail: 'the row differs from its leaf', source, ...about };
  const month = monthOf(receivedAt, dropped);
  return month === undefined
    ? { state: 'MISSING', detail: 'the row is gone', ...about }
    : { state: 'EXPIRED', detail: `retention dropped the month: operation ${month.record}`, ...about };
}

/** The columns of kind and key only lead to the statement: what counts is what the leaf has. */
function isNamedBy(record: string, kind: string, key: string): boolean {
  const stated: unknown = JSON.parse(record);
  return Array.isArray(stated) && stated[0] === kind && String(stated[2]) === key;
}

/** Compares rows with their last statements, and statements of a row with each other. Returns how many rows wait to be sealed. */
export async function compareStated(db: Db, report: Report): Promise<number> {
  for (const kind of STATEMENT_KINDS) {
    for (const { key, ...found } of await readingSealed(db, (trx) => findStatedDifferences(trx, kind))) {
      report({ subject: kind, key, ...describeStated(found) });
    }
    for (const { key, leaf } of await readingSealed(db, (trx) => findForbiddenChanges(trx, kind))) {
      const detail = `it was changed in a way that this program does not allow, and then ${leaf === null ? 'queued to be ' : ''}sealed`;
      report({
        state: 'ALTERED',
        subject: kind,
        key,
        detail,
        ...(leaf !== null && { leaves: [leaf, leaf + 1] }),
      });
    }
  }
  for (const { kind, key, leaf } of await findStrayStatements(db)) {
    const detail = 'its seal refers to a leaf that is in no tree';
    report({ state: 'INSERTED', subject: kind, key, detail, leaves: [leaf, leaf + 1] });
  }
  for (const { quarter, source, messageType, ...found } of await readingSealed(db, findQuarterDifferences)) {
    const { detail, ...difference } = describeStated(found);
    const key = quarter.toISOString();
    report({
      subject: 'quarter',
      key,
      source,
      messageType,
      detail: `${messageType}: ${detail}`,
      ...difference,
    });
  }
  return countQueuedStatements(db);
}

function describeStated({ leaf, isGone }: { readonly leaf: number | null; readonly isGone: boolean }) {
  if (leaf === null) return { state: 'INSERTED', detail: 'it was never queued to be sealed' } as const;
  const leaves = [leaf, leaf + 1] as const;
  return isGone
    ? ({ state: 'MISSING', detail: 'the row is gone', leaves } as const)
    : ({ state: 'ALTERED', detail: 'the row differs from its last sealed state', leaves } as const);
}
