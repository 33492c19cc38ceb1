import { listDestinations, MAX_BEHIND_COUNT } from '../../store/destinations.ts';
import type { DestinationStatus } from '../../store/destinations.ts';
import { duration } from '../progress.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** A destination that is further behind than this does not keep up, or is away. */
const FAR_BEHIND_S = 15 * 60;

/** Whether a destination of the settings gets its events. */
export async function checkDestination(access: DatabaseAccess, name: string): Promise<Finding> {
  const status = (await listDestinations(access.opened().db)).find((one) => one.name === name);
  if (status === undefined) {
    return warn('has not started', 'run: xiq-sink serve, in the role all or forward');
  }
  return describe(status);
}

function describe(status: DestinationStatus): Finding {
  const { name, state, rejected_count: rejected, behind_since: since, last_error: error } = status;
  const behindS = since === null ? 0 : (Date.now() - since.getTime()) / 1_000;
  const told = `${state}, ${describeBehind(status, behindS)}`;
  switch (state) {
    case 'refused':
      return fail(
        `${told}: ${error ?? 'it refuses us'}`,
        `mend what it says, then: xiq-sink destinations resume ${name}`,
      );
    case 'paused':
      return warn(told, `go on: xiq-sink destinations resume ${name}`);
    case 'running':
      if (error !== null)
        return warn(`${told}: ${error}`, `it is tried again; try it now: xiq-sink destinations test ${name}`);
      if (behindS > FAR_BEHIND_S) {
        return warn(
          told,
          'see that serve runs in the role all or forward, and that the destination keeps up',
        );
      }
      return rejected > 0
        ? warn(`${told}, has refused ${rejected} events`, `look: xiq-sink destinations rejected ${name}`)
        : ok(told);
  }
}

function describeBehind({ behind_count: count }: DestinationStatus, seconds: number): string {
  if (count === 0) return 'has all';
  const events = count > MAX_BEHIND_COUNT ? `over ${MAX_BEHIND_COUNT}` : String(count);
  return `${events} events behind, since ${duration(seconds)}`;
}
