import type { Command } from '@commander-js/extra-typings';
import type { Destination } from '../../forward/parse-destinations.ts';
import type { Db } from '../../store/server/database.ts';
import { atLeastOne, defineCommand, readTime, time, TIME_FORMS, zoneOption } from '../shared/options.ts';
import type { DestinationChange } from '../../store/destinations/change-destination.ts';
import { commandOperator, FAILED, stopSignal } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineDestinations(program: Command, settings: Settings): void {
  const destinations = program.command('destinations').description('manage destinations');

  defineCommand(destinations, 'list', 'list destinations with their state, lag and last error', [
    'xiq-sink destinations list',
    'xiq-sink destinations list --json | jq .',
  ])
    .option('--json', 'print one JSON object per line')
    .action(async ({ json }) => {
      const { printDestinations } = await import('./destinations.ts');
      await withDestinations((db, configured) => printDestinations(db, configured, json === true));
    });

  defineCommand(destinations, 'test', 'send one event, marked as a test, and print the result', [
    'xiq-sink destinations test siem',
  ])
    .argument('<name>', 'name of a configured destination')
    .action(async (name) => {
      const { findDestination } = await import('../../forward/parse-destinations.ts');
      const { sendTestEvent } = await import('./destinations.ts');
      const test = async (configured: readonly Destination[]) => {
        if (!(await sendTestEvent(findDestination(configured, name)))) process.exitCode = FAILED;
      };
      // One of the settings needs no database.
      const { destinations: ofSettings } = await settings();
      if (ofSettings.some((one) => one.name === name)) await test(ofSettings);
      else await withDestinations((_db, configured) => test(configured));
    });

  for (const [verb, description, state] of [
    ['pause', 'pause after the current batch', 'paused'],
    ['resume', 'resume from the last position', 'running'],
  ] as const) {
    destinationCommand(verb, description, [`xiq-sink destinations ${verb} siem`]).action(async (name) => {
      const { changeState } = await import('./destinations.ts');
      await changing(name, (change) => changeState(change, state));
    });
  }

  destinationCommand('rewind', 'resend events received since a given time', [
    'xiq-sink destinations rewind siem --to 7d',
    'xiq-sink destinations rewind siem --to now',
  ])
    .requiredOption('--to <time>', `${TIME_FORMS}, or now`, time)
    .addOption(zoneOption())
    .action(async (name, { to, tz }) => {
      const time = to === 'now' ? undefined : readTime(to, tz);
      const { rewind } = await import('./destinations.ts');
      await changing(name, (change) => rewind(change, time));
    });

  destinationCommand('forget', 'delete the state of a removed destination', [
    'xiq-sink destinations forget old-siem',
  ]).action(async (name) => {
    const { forget } = await import('./destinations.ts');
    await changing(name, forget);
  });

  destinationCommand('rejected', 'list events that the destination rejected, oldest first', [
    'xiq-sink destinations rejected siem --limit 1000 --json',
  ])
    .option('--limit <number>', 'maximum number of events', atLeastOne, '50')
    .option('--json', 'print one JSON object per line')
    .action(async (name, { limit, json }) => {
      const { printRejected } = await import('./destinations.ts');
      await withDestinations((db, configured) =>
        printRejected(db, configured, name, Number(limit), json === true),
      );
    });

  destinationCommand('replay', 'resend events that the destination rejected', [
    'xiq-sink destinations replay siem EVENT_ID',
    'xiq-sink destinations replay siem --all',
  ])
    .argument('[event-ids...]', 'event ids, as printed by rejected')
    .option('--all', 'all rejected events')
    .action(async (name, ids, { all }) => {
      const signal = stopSignal();
      const { findDestination } = await import('../../forward/parse-destinations.ts');
      const { resendRejectedEvents } = await import('./destinations.ts');
      await withDestinations((db, configured) =>
        resendRejectedEvents(db, findDestination(configured, name), { ids, all: all === true }, signal),
      );
    });

  function destinationCommand(name: string, description: string, lines: readonly string[]) {
    return defineCommand(destinations, name, description, lines).argument(
      '<name>',
      'destination name, as printed by list',
    );
  }

  async function withDestinations(
    work: (db: Db, configured: readonly Destination[]) => Promise<boolean | void>,
  ) {
    const { joinStored } = await import('./destinations.ts');
    await runOnStore(settings, async ({ db }, config) => work(db, await joinStored(db, config)));
  }

  async function changing(name: string, work: (change: DestinationChange) => Promise<void>): Promise<void> {
    await withDestinations((db, configured) =>
      work({ db, operator: commandOperator(), configured: configured.map((one) => one.name), name }),
    );
  }
}
