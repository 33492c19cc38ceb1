import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { describeDestinations, type DescribedDestination } from '../../store/destinations.ts';
import { listRejected, type Rejected } from '../../store/rejected-events.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { formatCount, formatDuration } from '../../units.ts';
import { note, print, printRows, type Columns } from '../shared/output.ts';

const COLUMNS: Columns<DescribedDestination> = {
  name: ({ name }) => name,
  type: ({ type }) => type,
  format: ({ format }) => format,
  state: ({ state }) => state,
  'events behind': ({ behind }) => (behind === null ? null : formatCount(behind)),
  'behind for': ({ behind_since: since }) =>
    since === null ? null : formatDuration((Date.now() - since.getTime()) / 1_000),
  sent: ({ sent }) => sent,
  rejected: ({ rejected }) => (rejected === null ? null : String(rejected)),
  'last error': ({ last_error: error }) => error,
};

/** `destinations list`: prints configured and removed destinations, as a table or as JSON lines. */
export async function printDestinations(
  db: Db,
  configured: readonly Destination[],
  asJson: boolean,
): Promise<void> {
  const rows = await describeDestinations(db, ALL_SOURCES, configured);
  await printRows(rows, COLUMNS, asJson);
  if (rows.length === 0) note('no destinations are configured; see docs/forwarding.md');
}

const REJECTED_COLUMNS: Columns<Rejected> = {
  event: (event) => event.event_id,
  occurred: (event) => event.occurred_at.toISOString(),
  type: (event) => event.message_type,
  rejected: (event) => event.rejected_at.toISOString(),
  reason: (event) => event.reason,
};

/** `destinations rejected`: prints rejected events that were not resent since, oldest first. */
export async function printRejected(db: Db, name: string, limit: number, asJson: boolean): Promise<void> {
  const rejected = await listRejected(db, ALL_SOURCES, name, limit);
  await printRows(rejected, REJECTED_COLUMNS, asJson);
  if (!asJson && rejected.length === 0) print('No rejected events.');
}
