import { listDestinations, type DestinationStatus } from '../../store/destinations.ts';
import { commandName } from '../../command-name.ts';
import { countOf, formatDuration } from '../../units.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import { fail, ok, warn, type Check, type Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** A destination with a longer lag does not keep up, or is unreachable. */
const FAR_BEHIND_S = 15 * 60;

/** The checks of the configured destinations. */
export function destinationChecks(
  destinations: readonly Pick<Destination, 'name' | 'type'>[],
  access: DatabaseAccess,
): Check[] {
  if (destinations.length === 0) {
    return [{ name: 'destinations', run: async () => ok('none configured: no events are forwarded') }];
  }
  return destinations.flatMap(({ name, type }) => [
    { name: `destination ${name}`, needs: ['migrations'], run: () => checkDestination(access, name) },
    ...(type === 'syslog' ? [{ name: `delivery to ${name}`, run: async () => ok(UNCONFIRMED) }] : []),
  ]);
}

/** No setting can change this, so it is not a warning. */
const UNCONFIRMED =
  'syslog has no acknowledgement: events count as sent even if they are lost on the way (UDP), or if a proxy or the receiver reads and then loses them; RELP (relp, relp+tls) is acknowledged';

/** Checks that a configured destination receives its events. */
async function checkDestination(access: DatabaseAccess, name: string): Promise<Finding> {
  const status = (await listDestinations(access.opened().db)).find((one) => one.name === name);
  if (status === undefined) {
    return warn('not started', `run ${commandName()} serve with the role all or forward`);
  }
  return describe(status);
}

function describe(status: DestinationStatus): Finding {
  const { name, state, rejected_count: rejected, behind_since: since, last_error: error } = status;
  const { rejected_in_row: inRow } = status;
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
      if (error !== null && inRow > 0)
        return warn(
          `${lag}: ${error}`,
          `${countOf(inRow, 'event')} rejected, none accepted since: run ${commandName()} destinations rejected ${name}`,
        );
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
  return `${countOf(count, 'event')} behind (${formatDuration(seconds)})`;
}
