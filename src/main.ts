import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { runDemo } from './commands/demo.ts';
import { changeState, configuredDestination, forget, rewind } from './commands/destinations-change.ts';
import { replayRejected, sendTestEvent } from './commands/destinations-send.ts';
import { printDestinations, printRejected } from './commands/destinations.ts';
import { flagOf, printEmulator } from './commands/emulator.ts';
import { followEvents, parsePosition, printSearch } from './commands/events.ts';
import { withStore } from './commands/open-store.ts';
import { discardChosen } from './commands/quarantine-discard.ts';
import { replayChosen } from './commands/quarantine-replay.ts';
import { printQuarantine, printQuarantined } from './commands/quarantine.ts';
import { ROLES } from './commands/serve.ts';
import { serveUntilSignal } from './commands/serve-until-signal.ts';
import { printQuery } from './commands/sql.ts';
import { stopSignal } from './commands/stop-signal.ts';
import { applySubscriptions, printList, printPlan, removeSubscriptions } from './commands/subscribe.ts';
import type { SubscribeContext } from './commands/subscribe.ts';
import { parseTime } from './commands/time.ts';
import { loadConfig } from './config.ts';
import { MESSAGE_TYPES } from './domain.ts';
import { EMULATOR_OPTIONS } from './emulator/run-emulator.ts';
import { describeError, UsageError } from './errors.ts';
import { parseDestinations } from './forward/parse-destinations.ts';
import type { Destination } from './forward/parse-destinations.ts';
import { createLogger } from './logger.ts';
import type { Db } from './store/database.ts';
import { QUARANTINE_STATES } from './store/search-quarantine.ts';

/** Exit codes of every command: 0 good, 1 failed, 2 wrong usage or configuration; 3 when a check finds a difference. */
const FAILED = 1;
const WRONG_USAGE = 2;
const DIFFERENT = 3;

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
    await withStore(settings(), logger(), async (_store, applied) => {
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
    await withStore(settings(), logger(), ({ databaseUrl }) => printQuery(databaseUrl, statement, format));
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

const events = program.command('events').description('find stored events, or follow them');

eventsCommand('search', 'events that match, newest first')
  .option('--since <time>', 'from this time on: 2026-01-31, 2026-01-31T08:00Z, or 90m, 12h, 7d ago', time)
  .option('--until <time>', 'before this time', time)
  .option('--limit <number>', 'how many at most', wholeNumber, '50')
  .option('--after <position>', 'go on behind the last event of a page', position)
  .addHelpText(
    'after',
    examples(
      'xiq-sink events search --since 24h --type AUDIT_LOG_ALL',
      'xiq-sink events search --user admin@example.com --code 10001',
      'xiq-sink events search --mac aa:bb:cc:dd:ee:ff --json',
    ),
  )
  .action(async ({ type, limit, after, json, ...filter }) => {
    await withStore(settings(), logger(), ({ db }) =>
      printSearch(db, { ...filter, messageType: type }, { limit: Number(limit), after }, json === true),
    );
  });

eventsCommand('tail', 'events as they are stored, until Ctrl-C')
  .addHelpText(
    'after',
    examples('xiq-sink events tail --type AUTHENTICATION_LOG_ALL', 'xiq-sink events tail --json | jq .'),
  )
  .action(async ({ type, json, ...filter }) => {
    const signal = stopSignal();
    await withStore(settings(), logger(), ({ db }) =>
      followEvents(db, { ...filter, messageType: type }, json === true, signal),
    );
  });

const quarantine = program
  .command('quarantine')
  .description('what could not be read or stored: look at it, replay it, or discard it');

quarantineCommand('list', 'what lies in quarantine, newest first')
  .addOption(
    new Option('--state <state>', 'what became of it').choices(QUARANTINE_STATES).default('open' as const),
  )
  .option('--limit <number>', 'how many at most', wholeNumber, '50')
  .option('--json', 'print one JSON object a line')
  .addHelpText(
    'after',
    examples(
      'xiq-sink quarantine list',
      'xiq-sink quarantine list --reason "not JSON" --since 7d',
      'xiq-sink quarantine list --state all --json',
    ),
  )
  .action(async ({ type, state, limit, json, ...filter }) => {
    await withStore(settings(), logger(), ({ db }) =>
      printQuarantine(db, { ...filter, messageType: type }, { state, limit: Number(limit) }, json === true),
    );
  });

quarantine
  .command('show')
  .description('all about one, and its bytes: as text, else in hexadecimal digits')
  .argument('<id>', 'as list shows it')
  .addOption(new Option('--raw', 'write its bytes as they came, and nothing else').conflicts('json'))
  .option('--json', 'print JSON')
  .addHelpText('after', examples('xiq-sink quarantine show ID', 'xiq-sink quarantine show ID --raw | gunzip'))
  .action(async (id, { raw, json }) => {
    const format = raw === true ? 'raw' : json === true ? 'json' : 'text';
    await withStore(settings(), logger(), ({ db }) => printQuarantined(db, id, format));
  });

quarantineCommand('replay', 'read and store again what is open, as a new delivery is')
  .argument('[ids...]', 'as list shows them; without, what the options say')
  .option('--all', 'all that is open')
  .addHelpText(
    'after',
    examples(
      'xiq-sink quarantine replay ID',
      'xiq-sink quarantine replay --type AUDIT_LOG_ALL --reason "violates check constraint"',
      'xiq-sink quarantine replay --all',
    ),
  )
  .action(async (ids, { type, all, ...filter }) => {
    const config = settings();
    const context = { logger: logger(), maxBodyBytes: config.maxBodyBytes, giveUp: stopSignal() };
    const chosen = { ids, filter: { ...filter, messageType: type }, all: all === true };
    await withStore(config, context.logger, async ({ db }) => {
      if (!(await replayChosen({ ...context, db }, chosen))) process.exitCode = FAILED;
    });
  });

quarantineCommand('discard', 'empty the bytes of what is open; what it was stays written down')
  .argument('[ids...]', 'as list shows them; without, what the options say')
  .option('--all', 'all that is open')
  .option('--yes', 'do it; without, only show what would be discarded')
  .addHelpText(
    'after',
    examples(
      'xiq-sink quarantine discard ID --yes',
      'xiq-sink quarantine discard --source branch --until 90d',
    ),
  )
  .action(async (ids, { type, all, yes, ...filter }) => {
    const signal = stopSignal();
    const chosen = { ids, filter: { ...filter, messageType: type }, all: all === true };
    await withStore(settings(), logger(), ({ db }) => discardChosen(db, chosen, yes === true, signal));
  });

const destinations = program
  .command('destinations')
  .description('where events are forwarded to: how it goes, and what to do about it');

destinations
  .command('list')
  .description('all destinations, how far behind each is, and its last error')
  .option('--json', 'print one JSON object a line')
  .addHelpText('after', examples('xiq-sink destinations list', 'xiq-sink destinations list --json | jq .'))
  .action(async ({ json }) => {
    await withDestinations((db, configured) => printDestinations(db, configured, json === true));
  });

destinations
  .command('test')
  .description('send one event, marked as a test, and say what came back')
  .argument('<name>', 'a destination of the settings')
  .addHelpText('after', examples('xiq-sink destinations test siem'))
  .action(async (name) => {
    const destination = configuredDestination(parseDestinations(settings().forwarding), name);
    if (!(await sendTestEvent(destination))) process.exitCode = FAILED;
  });

destinationCommand('pause', 'stop forwarding behind the batch in hand; the place is kept')
  .addHelpText('after', examples('xiq-sink destinations pause siem'))
  .action(async (name) => {
    await withDestinations((db, configured) => changeState(db, configured, name, 'paused'));
  });

destinationCommand('resume', 'go on where it was, after a pause or when the destination had refused us')
  .addHelpText('after', examples('xiq-sink destinations resume siem'))
  .action(async (name) => {
    await withDestinations((db, configured) => changeState(db, configured, name, 'running'));
  });

destinationCommand('rewind', 'forward again what was received from a time on, or begin there')
  .requiredOption('--to <time>', '2026-01-31, 2026-01-31T08:00Z, 90m, 12h or 7d ago, or now', timeOrNow)
  .addHelpText(
    'after',
    examples('xiq-sink destinations rewind siem --to 7d', 'xiq-sink destinations rewind siem --to now'),
  )
  .action(async (name, { to }) => {
    await withDestinations((db, configured) => rewind(db, configured, name, to === 'now' ? undefined : to));
  });

destinationCommand(
  'forget',
  'remove what is remembered of a destination that is not in the settings any more',
)
  .addHelpText('after', examples('xiq-sink destinations forget old-siem'))
  .action(async (name) => {
    await withDestinations((db, configured) => forget(db, configured, name));
  });

destinationCommand('rejected', 'events that the destination has refused, oldest first')
  .option('--limit <number>', 'how many at most', wholeNumber, '50')
  .option('--json', 'print one JSON object a line')
  .addHelpText('after', examples('xiq-sink destinations rejected siem --limit 1000 --json'))
  .action(async (name, { limit, json }) => {
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
    await withDestinations(async (db, configured) => {
      const destination = configuredDestination(configured, name);
      if (!(await replayRejected(db, destination, { ids, all: all === true }, signal))) {
        process.exitCode = FAILED;
      }
    });
  });

program
  .command('demo')
  .description('an emulated cloud and this program subscribed to it, to look at, until Ctrl-C')
  .action(() => runDemo(process.env, createLogger('error'), stopSignal()));

const emulator = program
  .command('emulator')
  .description('a stand-in for the cloud, to try and to test with, until Ctrl-C')
  .addHelpText('after', examples('xiq-sink emulator', 'xiq-sink emulator --rate 200 --secret-form hmac'))
  .action((options) => printEmulator(options, logger(), stopSignal()));
for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
  emulator.option(`${flagOf(name)} <value>`, meaning, usual);
}

/** A command about events, with the conditions that all of them take. */
function eventsCommand(name: string, description: string) {
  return events
    .command(name)
    .description(description)
    .addOption(typeOption())
    .option('--user <name>', 'user name, exactly')
    .option('--code <code>', "the audit record's event code", wholeNumber)
    .option('--mac <address>', 'MAC address of a client or an access point, in any notation', macAddress)
    .option('--text <text>', "any part of the record's text")
    .option('--source <name>', 'source, exactly')
    .option('--json', 'print one JSON object a line');
}

/** A command about quarantine, with the conditions that most of them take. */
function quarantineCommand(name: string, description: string) {
  return quarantine
    .command(name)
    .description(description)
    .addOption(typeOption())
    .option('--source <name>', 'source, exactly')
    .option('--reason <text>', 'any part of the reason')
    .option(
      '--since <time>',
      'received from this time on: 2026-01-31, 2026-01-31T08:00Z, or 90m, 12h, 7d ago',
      time,
    )
    .option('--until <time>', 'received before this time', time);
}

/** A command about one destination, also one that is no longer in the settings. */
function destinationCommand(name: string, description: string) {
  return destinations.command(name).description(description).argument('<name>', 'as list shows it');
}

/** Runs a command's work on the database, with the destinations of the settings. */
async function withDestinations(
  work: (db: Db, configured: readonly Destination[]) => Promise<void>,
): Promise<void> {
  const config = settings();
  const configured = parseDestinations(config.forwarding);
  await withStore(config, logger(), ({ db }) => work(db, configured));
}

/** The settings of this process's environment. */
function settings() {
  return loadConfig(process.env);
}

/** A one-off command speaks by its output; its log holds only what went wrong. */
function logger() {
  return createLogger('warn');
}

/** What a `subscribe` command works with; its log also tells of calls that are repeated, for they take time. */
function subscribing(source: string | undefined): SubscribeContext {
  return { config: settings(), logger: createLogger('info'), source };
}

function sourceOption() {
  return new Option('--source <name>', 'only this source');
}

function typeOption() {
  return new Option('--type <type>', 'message type').choices(MESSAGE_TYPES);
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

function wholeNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.');
  return text;
}

function macAddress(text: string): string {
  const digits = text.replaceAll(/[-:. ]/g, '');
  if (!/^[0-9a-f]{12}$/i.test(digits)) throw new InvalidArgumentError('It takes 12 hexadecimal digits.');
  return digits;
}

function time(text: string): Date {
  const parsed = parseTime(text, new Date());
  if (parsed === undefined)
    throw new InvalidArgumentError('It takes a time such as 2026-01-31T08:00Z, or 12h ago as 12h.');
  return parsed;
}

function timeOrNow(text: string): Date | 'now' {
  return text === 'now' ? text : time(text);
}

function position(text: string) {
  const parsed = parsePosition(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It takes what an earlier page printed behind --after.');
  return parsed;
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
