import { Command, Option } from '@commander-js/extra-typings';
import { defineDestinations } from './commands/define-destinations.ts';
import { defineEvents } from './commands/define-events.ts';
import { defineQuarantine } from './commands/define-quarantine.ts';
import { runDemo } from './commands/demo.ts';
import { flagOf, printEmulator } from './commands/emulator.ts';
import { DIFFERENT, FAILED, WRONG_USAGE } from './commands/exit-codes.ts';
import { withStore } from './commands/open-store.ts';
import { examples, sourceOption } from './commands/options.ts';
import { quietLogger } from './commands/quiet-logger.ts';
import { ROLES } from './commands/serve.ts';
import { serveUntilSignal } from './commands/serve-until-signal.ts';
import { printQuery } from './commands/sql.ts';
import { stopSignal } from './commands/stop-signal.ts';
import { applySubscriptions, printList, printPlan, removeSubscriptions } from './commands/subscribe.ts';
import type { SubscribeContext } from './commands/subscribe.ts';
import { loadConfig } from './config.ts';
import { EMULATOR_OPTIONS } from './emulator/run-emulator.ts';
import { describeError, UsageError } from './errors.ts';
import { createLogger } from './logger.ts';

const program = new Command('xiq-sink')
  .description(
    'Receives the webhooks of the network management cloud service and keeps every event in Postgres.',
  )
  .showHelpAfterError('(--help tells how)')
  .exitOverride((error) => {
    process.exit(error.exitCode === 0 ? 0 : WRONG_USAGE);
  });

program
  .command('serve')
  .description('receive deliveries, store and forward them, until Ctrl-C')
  .addOption(
    new Option('--role <role>', 'which parts to run in this process').choices(ROLES).default('all' as const),
  )
  .addHelpText(
    'after',
    examples('xiq-sink serve', 'PORT=9000 xiq-sink serve', 'xiq-sink serve --role forward'),
  )
  .action(async ({ role }) => {
    await serveUntilSignal(settings(), role);
  });

program
  .command('migrate')
  .description('bring the database up to date, and stop')
  .addHelpText('after', examples('DATABASE_URL=postgresql://... xiq-sink migrate'))
  .action(async () => {
    await withStore(settings(), quietLogger(), async (_store, applied) => {
      process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied: ${applied.join(', ')}\n`);
    });
  });

program
  .command('sql')
  .description('run one SQL statement, as a role that may only read')
  .argument('<statement>', 'in quotation marks')
  .addOption(new Option('--csv', 'print CSV').conflicts('json'))
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    examples(
      'xiq-sink sql "select occurred_at, user_name, description from audit_log order by 1 desc limit 20"',
      'xiq-sink sql --csv "select * from conservation" > conservation.csv',
    ),
  )
  .action(async (statement, { csv, json }) => {
    const format = csv === true ? 'csv' : json === true ? 'json' : 'table';
    await withStore(settings(), quietLogger(), ({ databaseUrl }) =>
      printQuery(databaseUrl, statement, format),
    );
  });

const subscribe = program
  .command('subscribe')
  .description("keep this program's webhook subscriptions in the cloud");

subscribe
  .command('plan')
  .description('what apply would create, update and delete')
  .addOption(sourceOption())
  .option('--check', 'exit with 3 when there is a difference')
  .option('--json', 'print JSON')
  .addHelpText('after', examples('xiq-sink subscribe plan', 'xiq-sink subscribe plan --check --json'))
  .action(async ({ source, check, json }) => {
    const isInOrder = await printPlan(subscribing(source), json === true);
    if (check === true && !isInOrder) process.exitCode = DIFFERENT;
  });

subscribe
  .command('apply')
  .description('make the subscriptions what the settings say; doing it again changes nothing')
  .addOption(sourceOption())
  .addHelpText(
    'after',
    examples('xiq-sink subscribe apply', 'WEBHOOK_SECRET=new,old xiq-sink subscribe apply'),
  )
  .action(({ source }) => applySubscriptions(subscribing(source)));

subscribe
  .command('list')
  .description('the subscriptions that the cloud holds, those of other applications included')
  .addOption(sourceOption())
  .option('--json', 'print JSON')
  .addHelpText('after', examples('xiq-sink subscribe list'))
  .action(({ source, json }) => printList(subscribing(source), json === true));

subscribe
  .command('remove')
  .description("delete this program's subscriptions, and no others")
  .addOption(sourceOption())
  .option('--yes', 'do it; without, only show what would be deleted')
  .addHelpText('after', examples('xiq-sink subscribe remove', 'xiq-sink subscribe remove --yes'))
  .action(({ source, yes }) => removeSubscriptions(subscribing(source), yes === true));

defineEvents(program, settings);
defineQuarantine(program, settings);
defineDestinations(program, settings);

program
  .command('demo')
  .description('an emulated cloud and this program subscribed to it, to look at, until Ctrl-C')
  .action(() => runDemo(process.env, createLogger('error'), stopSignal()));

const emulator = program
  .command('emulator')
  .description('a stand-in for the cloud, to try and to test with, until Ctrl-C')
  .addHelpText('after', examples('xiq-sink emulator', 'xiq-sink emulator --rate 200 --secret-form hmac'))
  .action((options) => printEmulator(options, quietLogger(), stopSignal()));
for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
  emulator.option(`${flagOf(name)} <value>`, meaning, usual);
}

/** The settings of this process's environment. */
function settings() {
  return loadConfig(process.env);
}

/** What a `subscribe` command works with; its log also tells of calls that are repeated, for they take time. */
function subscribing(source: string | undefined): SubscribeContext {
  return { config: settings(), logger: createLogger('info'), source };
}

// A reader that has seen enough (`| head`) is no failure: the command ends as usual and cleans up behind it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`xiq-sink: ${describeError(error)}\n`);
  process.exitCode = error instanceof UsageError ? WRONG_USAGE : FAILED;
}
