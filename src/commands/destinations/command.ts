import type { Command } from '@commander-js/extra-typings';
import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { examples, readTime, time, TIME_FORMS, wholeNumber, zoneOption } from '../shared/options.ts';
import { FAILED, stopSignal } from '../shared/process.ts';
import { runOnStore } from '../shared/run-on-store.ts';
import type { Settings } from '../shared/run-on-store.ts';

/** The commands `destinations list|test|pause|resume|rewind|forget|rejected|replay`. */
export function defineDestinations(program: Command, settings: Settings): void {
  const destinations = program.command('destinations').description('manage destinations');

  destinations
    .command('list')
    .description('list destinations with their state, lag and last error')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', examples('xiq-sink destinations list', 'xiq-sink destinations list --json | jq .'))
    .action(async ({ json }) => {
      const { printDestinations } = await import('./list.ts');
      await withDestinations((db, configured) => printDestinations(db, configured, json === true));
    });

  destinations
    .command('test')
    .description('send one event, marked as a test, and print the result')
    .argument('<name>', 'name of a configured destination')
    .addHelpText('after', examples('xiq-sink destinations test siem'))
    .action(async (name) => {
      const { findDestination } = await import('../../forward/parse-destinations.ts');
      const { sendTestEvent } = await import('./send.ts');
      const destination = findDestination((await settings()).destinations, name);
      if (!(await sendTestEvent(destination))) process.exitCode = FAILED;
    });

  destinationCommand('pause', 'pause after the current batch')
    .addHelpText('after', examples('xiq-sink destinations pause siem'))
    .action(async (name) => {
      const { changeState } = await import('./change.ts');
      await withDestinations((db, configured) => changeState(db, configured, name, 'paused'));
    });

  destinationCommand('resume', 'resume from the last position')
    .addHelpText('after', examples('xiq-sink destinations resume siem'))
    .action(async (name) => {
      const { changeState } = await import('./change.ts');
      await withDestinations((db, configured) => changeState(db, configured, name, 'running'));
    });

  destinationCommand('rewind', 'resend events received since a given time')
    .requiredOption('--to <time>', `${TIME_FORMS}, or now`, time)
    .addOption(zoneOption())
    .addHelpText(
      'after',
      examples('xiq-sink destinations rewind siem --to 7d', 'xiq-sink destinations rewind siem --to now'),
    )
    .action(async (name, { to, tz }) => {
      const time = to === 'now' ? undefined : readTime(to, tz);
      const { rewind } = await import('./change.ts');
      await withDestinations((db, configured) => rewind(db, configured, name, time));
    });

  destinationCommand('forget', 'delete the state of a removed destination')
    .addHelpText('after', examples('xiq-sink destinations forget old-siem'))
    .action(async (name) => {
      const { forget } = await import('./change.ts');
      await withDestinations((db, configured) => forget(db, configured, name));
    });

  destinationCommand('rejected', 'list events that the destination rejected, oldest first')
    .option('--limit <number>', 'maximum number of events', wholeNumber, '50')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', examples('xiq-sink destinations rejected siem --limit 1000 --json'))
    .action(async (name, { limit, json }) => {
      const { printRejected } = await import('./list.ts');
      await withDestinations((db) => printRejected(db, name, Number(limit), json === true));
    });

  destinationCommand('replay', 'resend events that the destination rejected')
    .argument('[event-ids...]', 'event ids, as printed by rejected')
    .option('--all', 'all rejected events')
    .addHelpText(
      'after',
      examples('xiq-sink destinations replay siem EVENT_ID', 'xiq-sink destinations replay siem --all'),
    )
    .action(async (name, ids, { all }) => {
      const signal = stopSignal();
      const { findDestination } = await import('../../forward/parse-destinations.ts');
      const { resendRejectedEvents } = await import('./send.ts');
      await withDestinations(async (db, configured) => {
        const destination = findDestination(configured, name);
        if (!(await resendRejectedEvents(db, destination, { ids, all: all === true }, signal))) {
          process.exitCode = FAILED;
        }
      });
    });

  /** A command on one destination, which need not be configured any more. */
  function destinationCommand(name: string, description: string) {
    return destinations
      .command(name)
      .description(description)
      .argument('<name>', 'destination name, as printed by list');
  }

  /** Runs a command's work on the database, with the configured destinations. */
  async function withDestinations(
    work: (db: Db, configured: readonly Destination[]) => Promise<void>,
  ): Promise<void> {
    await runOnStore(settings, ({ db }, { destinations }) => work(db, destinations));
  }
}
