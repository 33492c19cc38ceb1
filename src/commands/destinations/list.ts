import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { describeDestinations } from '../../store/destinations.ts';
import type { DescribedDestination } from '../../store/destinations.ts';
import { listRejected } from '../../store/rejected-events.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { formatCount, formatDuration } from '../../units.ts';
import { note, print, printJsonLine, printTable } from '../shared/output.ts';

const COLUMNS = [
  'name',
  'type',
  'format',
  'state',
  'events behind',
  'behind for',
  'sent',
  'rejected',
  'last error',
];

/** `destinations list`: prints configured and removed destinations, as a table or as JSON lines. */
export async function printDestinations(
  db: Db,
  configured: readonly Destination[],
  asJson: boolean,
): Promise<void> {
  const rows = await describeDestinations(db, ALL_SOURCES, configured);
  for (const row of asJson ? rows : []) printJsonLine(row);
  if (!asJson && rows.length > 0) await printTable(COLUMNS, rows.map(toCells));
  if (rows.length === 0) note('no destinations are configured; see docs/forwarding.md');
}

function toCells(row: DescribedDestination): (string | null)[] {
  const { behind, behind_is_least: isLeast, behind_since: since } = row;
  return [
    row.name,
    row.type,
    row.format,
    row.state,
    behind === null ? null : `${isLeast ? 'over ' : ''}${formatCount(behind)}`,
    since === null ? null : formatDuration((Date.now() - since.getTime()) / 1_000),
    row.sent,
    row.rejected === null ? null : String(row.rejected),
    row.last_error,
  ];
}

const REJECTED_COLUMNS = ['event', 'occurred', 'type', 'rejected', 'reason'];

/** `destinations rejected`: prints rejected events that were not resent since, oldest first. */
export async function printRejected(db: Db, name: string, limit: number, asJson: boolean): Promise<void> {
  const rejected = await listRejected(db, ALL_SOURCES, name, limit);
  for (const event of asJson ? rejected : []) printJsonLine(event);
  if (asJson) return;
  if (rejected.length === 0) {
    print('No rejected events.');
    return;
  }
  const rows = rejected.map((event) => [
    event.event_id,
    event.occurred_at.toISOString(),
    event.message_type,
    event.rejected_at.toISOString(),
    event.reason,
  ]);
  await printTable(REJECTED_COLUMNS, rows);
}
