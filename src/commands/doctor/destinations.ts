import { listDestinations, MAX_BEHIND_COUNT, type DestinationStatus } from '../../store/destinations.ts';
import { commandName } from '../../command-name.ts';
import { countOf, formatDuration } from '../../units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** A destination with a longer lag does not keep up, or is unreachable. */
const FAR_BEHIND_S = 15 * 60;

/** Checks that a configured destination receives its events. */
export async function checkDestination(access: DatabaseAccess, name: string): Promise<Finding> {
  const status = (await listDestinations(access.opened().db)).find((one) => one.name === name);
  if (status === undefined) {
    return warn('not started', `run ${commandName()} serve with the role all or forward`);
  }
  return describe(status);
}

function describe(status: DestinationStatus): Finding {
  const { name, state, rejected_count: rejected, behind_since: since, last_error: error } = status;
  const behindS = since === null ? 0 : (Date.now() - since.getTime()) / 1_000;
  const lag = `${state}, ${describeBehind(status, behindS)}`;
  switch (state) {
    case 'refused':
      return fail(
        `${lag}: ${error ?? 'no reason given'}`,
        `fix the cause, then run ${commandName()} destinations resume ${name}`,
      );
    case 'paused':
      return warn(lag, `to resume, run ${commandName()} destinations resume ${name}`);
    case 'running':
      if (error !== null)
        return warn(
          `${lag}: ${error}`,
          `it is retried; to test it now, run ${commandName()} destinations test ${name}`,
        );
      if (behindS > FAR_BEHIND_S) {
        return warn(
          lag,
          'check that serve is running with the role all or forward, and that the destination keeps up',
        );
      }
      return rejected > 0
        ? warn(
            `${lag}, ${countOf(rejected, 'rejected event')}`,
            `run ${commandName()} destinations rejected ${name}`,
          )
        : ok(lag);
  }
}

function describeBehind({ behind_count: count }: DestinationStatus, seconds: number): string {
  if (count === 0) return 'up to date';
  const events =
    count > MAX_BEHIND_COUNT ? `over ${countOf(MAX_BEHIND_COUNT, 'event')}` : countOf(count, 'event');
  return `${events} behind (${formatDuration(seconds)})`;
}
