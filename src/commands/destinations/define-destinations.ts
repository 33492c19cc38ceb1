import type { Command } from '@commander-js/extra-typings';
import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/database.ts';
import { FAILED } from '../exit-codes.ts';
import { onStore } from '../on-store.ts';
import { examples, readTime, time, wholeNumber, zoneOption } from '../options.ts';
import type { Settings } from '../settings.ts';
import { stopSignal } from '../stop-signal.ts';

/** The commands `destinations list|test|pause|resume|rewind|forget|rejected|replay`. */
export function defineDestinations(program: Command, settings: Settings): void {
  const destinations = program
    .command('destinations')
    .description('where events are forwarded to: how it goes, and what to do about it');

  destinations
    .command('list')
    .description('all destinations, how far behind each is, and its last error')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', examples('xiq-sink destinations list', 'xiq-sink destinations list --json | jq .'))
    .action(async ({ json }) => {
      const { printDestinations } = await import('./destinations.ts');
      await withDestinations((db, configured) => printDestinations(db, configured, json === true));
    });

  destinations
    .command('test')
    .description('send one event, marked as a test, and say what came back')
    .argument('<name>', 'a destination of the settings')
    .addHelpText('after', examples('xiq-sink destinations test siem'))
    .action(async (name) => {
      const { configuredDestination } = await import('./destinations-change.ts');
      const { sendTestEvent } = await import('./destinations-send.ts');
      const destination = configuredDestination((await settings()).destinations, name);
      if (!(await sendTestEvent(destination))) process.exitCode = FAILED;
    });

  destinationCommand('pause', 'stop forwarding behind the batch in hand; the place is kept')
    .addHelpText('after', examples('xiq-sink destinations pause siem'))
    .action(async (name) => {
      const { changeState } = await import('./destinations-change.ts');
      await withDestinations((db, configured) => changeState(db, configured, name, 'paused'));
    });

  destinationCommand('resume', 'go on where it was, after a pause or when the destination had refused us')
    .addHelpText('after', examples('xiq-sink destinations resume siem'))
    .action(async (name) => {
      const { changeState } = await import('./destinations-change.ts');
      await withDestinations((db, configured) => changeState(db, configured, name, 'running'));
    });

  destinationCommand('rewind', 'forward again what was received from a time on, or begin there')
    .requiredOption('--to <time>', '2026-01-31, 2026-01-31T08:00, 90m, 12h or 7d ago, or now', time)
    .addOption(zoneOption())
    .addHelpText(
      'after',
      examples('xiq-sink destinations rewind siem --to 7d', 'xiq-sink destinations rewind siem --to now'),
    )
    .action(async (name, { to, tz }) => {
      const time = to === 'now' ? undefined : readTime(to, tz);
      const { rewind } = await import('./destinations-change.ts');
      await withDestinations((db, configured) => rewind(db, configured, name, time));
    });

  destinationCommand(
    'forget',
    'remove what is remembered of a destination that is not in the settings any more',
  )
    .addHelpText('after', examples('xiq-sink destinations forget old-siem'))
    .action(async (name) => {
      const { forget } = await import('./destinations-change.ts');
      await withDestinations((db, configured) => forget(db, configured, name));
    });

  destinationCommand('rejected', 'events that the destination has refused, oldest first')
    .option('--limit <number>', 'how many at most', wholeNumber, '50')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', examples('xiq-sink destinations rejected siem --limit 1000 --json'))
    .action(async (name, { limit, json }) => {
      const { printRejected } = await import('./destinations.ts');
      await withDestinations((db) => printRejected(db, name, Number(limit), json === true));
    });

  destinationCommand('replay', 'send again what the destination has refused')
    .argument('[event-ids...]', 'as rejected shows them')
    .option('--all', 'all that it has refused')
    .addHelpText(
      'after',
      examples('xiq-sink destinations replay siem EVENT_ID', 'xiq-sink destinations replay siem --all'),
    )
    .action(async (name, ids, { all }) => {
      const signal = stopSignal();
      const { configuredDestination } = await import('./destinations-change.ts');
      const { replayRejected } = await import('./destinations-send.ts');
      await withDestinations(async (db, configured) => {
        const destination = configuredDestination(configured, name);
        if (!(await replayRejected(db, destination, { ids, all: all === true }, signal))) {
          process.exitCode = FAILED;
        }
      });
    });

  /** A command about one destination, also one that is no longer in the settings. */
  function destinationCommand(name: string, description: string) {
    return destinations.command(name).description(description).argument('<name>', 'as list shows it');
  }

  /** Runs a command's work on the database, with the destinations of the settings. */
  async function withDestinations(
    work: (db: Db, configured: readonly Destination[]) => Promise<void>,
  ): Promise<void> {
    await onStore(settings, ({ db }, { destinations }) => work(db, destinations));
  }
}
