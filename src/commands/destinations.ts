import type { Destination } from '../forward/parse-destinations.ts';
import type { Db } from '../store/database.ts';
import { listDestinations, listRejected, MAX_BEHIND_COUNT } from '../store/destinations.ts';
import type { DestinationStatus } from '../store/destinations.ts';
import { note, print } from './print.ts';
import { formatTable } from './table.ts';

const COLUMNS = ['name', 'type', 'format', 'state', 'behind', 'since', 'sent', 'rejected', 'last error'];

/** `destinations list`: those of the settings and those that once were, as a table or as JSON lines. */
export async function printDestinations(
  db: Db,
  configured: readonly Destination[],
  asJson: boolean,
): Promise<void> {
  const stored = new Map((await listDestinations(db)).map((status) => [status.name, status]));
  const names = new Set([...configured.map(({ name }) => name), ...stored.keys()]);
  const rows = [...names].toSorted().map((name) => describe(name, configured, stored.get(name)));
  for (const row of asJson ? rows : []) print(JSON.stringify(row));
  if (!asJson && rows.length > 0) print(formatTable(COLUMNS, rows.map(toCells)));
  if (rows.length === 0) note('there are no destinations: docs/forwarding.md tells how to set one');
}

/** What `list` tells of a destination; null where it is not known, since it has not started or is not configured. */
interface Described {
  readonly name: string;
  readonly type: string | null;
  readonly format: string | null;
  readonly state: DestinationStatus['state'] | 'not configured' | 'not started';
  readonly behind: number | null;
  /** Whether `behind` is only where counting ended. */
  readonly behind_is_least: boolean;
  readonly behind_since: Date | null;
  readonly sent: string | null;
  readonly last_sent_at: Date | null;
  readonly rejected: number | null;
  readonly last_error: string | null;
  readonly last_error_at: Date | null;
}

function describe(
  name: string,
  configured: readonly Destination[],
  status: DestinationStatus | undefined,
): Described {
  const destination = configured.find((one) => one.name === name);
  return {
    name,
    type: destination?.type ?? null,
    format: destination?.formatName ?? null,
    state: destination === undefined ? 'not configured' : (status?.state ?? 'not started'),
    behind: status === undefined ? null : Math.min(status.behind_count, MAX_BEHIND_COUNT),
    behind_is_least: status !== undefined && status.behind_count > MAX_BEHIND_COUNT,
    behind_since: status?.behind_since ?? null,
    sent: status?.sent_count ?? null,
    last_sent_at: status?.last_sent_at ?? null,
    rejected: status?.rejected_count ?? null,
    last_error: status?.last_error ?? null,
    last_error_at: status?.last_error_at ?? null,
  };
}

function toCells(row: Described): (string | null)[] {
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
