import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { describeDestinations } from '../../store/destinations.ts';
import type { DescribedDestination } from '../../store/destinations.ts';
import { listRejected } from '../../store/rejected-events.ts';
import { note, print } from '../print.ts';
import { formatTable } from '../table.ts';

const COLUMNS = ['name', 'type', 'format', 'state', 'behind', 'since', 'sent', 'rejected', 'last error'];

/** `destinations list`: those of the settings and those that once were, as a table or as JSON lines. */
export async function printDestinations(
  db: Db,
  configured: readonly Destination[],
  asJson: boolean,
): Promise<void> {
  const rows = await describeDestinations(db, configured);
  for (const row of asJson ? rows : []) print(JSON.stringify(row));
  if (!asJson && rows.length > 0) print(formatTable(COLUMNS, rows.map(toCells)));
  if (rows.length === 0) note('there are no destinations: docs/forwarding.md tells how to set one');
}

function toCells(row: DescribedDestination): (string | null)[] {
  const { behind, behind_is_least: isLeast, behind_since: since } = row;
  return [
    row.name,
    row.type,
    row.format,
    row.state,
    behind === null ? null : `${isLeast ? 'over ' : ''}${behind}`,
    since === null ? null : ago(since, new Date()),
    row.sent,
    row.rejected === null ? null : String(row.rejected),
    row.last_error,
  ];
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** How long ago a time was, in its largest whole unit: `3h`. */
function ago(time: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - time.getTime()) / 1_000));
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}

const REJECTED_COLUMNS = ['event', 'occurred', 'type', 'rejected', 'reason'];

/** `destinations rejected`: what a destination has refused and was not sent again, oldest first. */
export async function printRejected(db: Db, name: string, limit: number, asJson: boolean): Promise<void> {
  const rejected = await listRejected(db, name, limit);
  for (const event of asJson ? rejected : []) print(JSON.stringify(event));
  if (asJson) return;
  if (rejected.length === 0) {
    print(`${name} has refused no event that was not sent again`);
    return;
  }
  const rows = rejected.map((event) => [
    event.event_id,
    event.occurred_at.toISOString(),
    event.message_type,
    event.rejected_at.toISOString(),
    event.reason,
  ]);
  print(formatTable(REJECTED_COLUMNS, rows));
}
