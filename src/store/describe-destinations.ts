import type { Db } from './database.ts';
import { listDestinations, MAX_BEHIND_COUNT } from './destinations.ts';
import type { DestinationStatus } from './destinations.ts';

/** What the settings say of a destination. */
export interface ConfiguredDestination {
  readonly name: string;
  readonly type: string;
  readonly formatName: string;
}

/** A destination as people see it; null where something is not known, since it has not started or is not configured. */
export interface DescribedDestination {
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

/** The destinations of the settings and those that once were, by name. */
export async function describeDestinations(
  db: Db,
  configured: readonly ConfiguredDestination[],
): Promise<readonly DescribedDestination[]> {
  const stored = new Map((await listDestinations(db)).map((status) => [status.name, status]));
  const names = new Set([...configured.map(({ name }) => name), ...stored.keys()]);
  return [...names].toSorted().map((name) => describe(name, configured, stored.get(name)));
}

function describe(
  name: string,
  configured: readonly ConfiguredDestination[],
  status: DestinationStatus | undefined,
): DescribedDestination {
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
