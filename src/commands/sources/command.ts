import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { CLOUD_TYPES } from '../../events/domain.ts';
import { defineCommand, wholeNumber } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

const SECRET_FORMS = 'env:NAME or file:/path, read by each process, or - for standard input';

export function defineSources(program: Command, settings: Settings): void {
  const sources = program
    .command('sources')
    .description('manage sources (cloud accounts that send to this installation) without a restart');

  defineCommand(sources, 'add', 'add a source to the database; its deliveries are accepted within a second', [
    'xiq-sink sources add customer-a',
    'xiq-sink sources add customer-b --secret file:/run/secrets/customer-b',
    'xiq-sink sources add customer-c --api-url https://api.example --api-token env:TOKEN_OF_CUSTOMER_C',
  ])
    .argument('<name>', 'name of the source, part of its URL')
    .option('--secret <place>', `webhook secret: ${SECRET_FORMS} (default: generated)`)
    .option('--api-url <url>', "address of the cloud's API, to manage subscriptions")
    .option('--api-token <place>', `API token: ${SECRET_FORMS}`)
    .option('--username <name>', 'user name for the API, instead of a token')
    .option('--password <place>', `password for the API: ${SECRET_FORMS}`)
    .addOption(new Option('--type <types...>', 'message types to subscribe to').choices(CLOUD_TYPES))
    .option('--deliveries-per-second <n>', 'limit in each ingest process', perSecond)
    .option('--bytes-per-second <n>', 'limit in each ingest process, for bodies as sent', perSecond)
    .action(async (name, options) => {
      const { add } = await import('./sources.ts');
      await runOnStore(settings, ({ db }, config) => add(db, config, name, options));
    });

  defineCommand(sources, 'list', 'list the sources from the settings and the database', [
    'xiq-sink sources list',
    'xiq-sink sources list --json',
  ])
    .option('--json', 'print one JSON object per line')
    .action(async ({ json }) => {
      const { printSources } = await import('./sources.ts');
      await runOnStore(settings, ({ db }, config) => printSources(db, config, json === true));
    });

  defineCommand(sources, 'rotate', 'add a secret, keeping the old ones for a while; or drop the old ones', [
    'xiq-sink sources rotate customer-a --keep 24',
    'xiq-sink sources rotate customer-a --drop-old',
    'xiq-sink sources rotate --reencrypt',
  ])
    .argument('[name]', 'name of a source in the database')
    .option('--secret <place>', `new secret: ${SECRET_FORMS} (default: generated)`)
    .option('--keep <hours>', 'hours to accept the old secrets (default: until dropped)', hours)
    .addOption(
      new Option('--drop-old', 'add no secret, and drop all but the newest').conflicts(['secret', 'keep']),
    )
    .addOption(
      new Option(
        '--reencrypt',
        'encrypt the secrets of all sources and destinations in the database with the first key of SECRETS_KEY',
      ).conflicts(['secret', 'keep', 'dropOld']),
    )
    .action(async (name, options) => {
      const { rotate } = await import('./sources.ts');
      await runOnStore(settings, ({ db }, config) => rotate(db, config, name, options));
    });

  defineCommand(sources, 'disable', 'refuse further deliveries from a source; its events stay', [
    'xiq-sink sources disable customer-a',
  ])
    .argument('<name>', 'name of a source in the database')
    .action(async (name) => {
      const { disableOne } = await import('./sources.ts');
      await runOnStore(settings, ({ db }, config) => disableOne(db, config, name));
    });
}

const perSecond = (text: string) => Number(wholeNumber(text));

const MAX_HOURS = 8_760;

function hours(text: string): number {
  const number = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && number <= MAX_HOURS) return number;
  throw new InvalidArgumentError(`It must be a number of hours from 0 to ${MAX_HOURS}.`);
}
