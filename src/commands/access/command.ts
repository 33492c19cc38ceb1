import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { HOUR_MS } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { parseDuration } from '../../lib/text/parse-time.ts';
import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import { defineCommand, wholeNumber } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineAccess(program: Command, settings: Settings): void {
  const access = program.command('access').description('manage console accounts and API tokens');

  defineCommand(access, 'add', 'add an account', [
    'xiq-sink access add ada --role operator',
    'xiq-sink access add grace --role auditor --source branch --totp',
    'xiq-sink access add grafana --role viewer --no-password',
    'xiq-sink access add ada --sql',
  ])
    .argument('<name>', 'name of the person or the program; recorded in the operator log')
    .addOption(new Option('--role <role>', 'role of the account').choices(ACCOUNT_ROLES))
    .addOption(
      new Option('--sql', 'add a read-only database login for all sources instead of an account').conflicts([
        'role',
        'source',
        'totp',
      ]),
    )
    .option('--source <name>', 'source that the account may see; repeat for several (default: all)', collect)
    .option('--password-stdin', 'read the password from standard input')
    .option('--no-password', 'allow no password login, for programs that use API tokens')
    .option('--totp', 'require one-time codes from an authenticator app, and print its key')
    .action(async (name, { role, source, passwordStdin, password, totp, sql }) => {
      if (sql === true) {
        const { addSqlLogin } = await import('./sql-logins.ts');
        await runOnStore(settings, (store) => addSqlLogin(store, name, passwordInput(passwordStdin)));
        return;
      }
      if (role === undefined) throw new UsageError('--role is required, or --sql (see --help)');
      const { addPerson } = await import('./accounts.ts');
      const input = password ? passwordInput(passwordStdin) : 'none';
      await runOnStore(settings, ({ db }) =>
        addPerson(db, name, { role, sources: source, password: input, totp: totp === true }),
      );
    });

  defineCommand(access, 'list', 'list accounts with their API tokens', [
    'xiq-sink access list',
    'xiq-sink access list --json',
  ])
    .option('--json', 'print one JSON object per line')
    .action(async ({ json }) => {
      const { printAccess } = await import('./accounts.ts');
      await runOnStore(settings, ({ db }) => printAccess(db, json === true));
    });

  defineCommand(access, 'change', 'change an account and end its sessions', [
    'xiq-sink access change ada --role admin',
    'xiq-sink access change ada --password',
    'xiq-sink access change grace --enable --all-sources',
  ])
    .argument('<name>', 'account name')
    .addOption(new Option('--role <role>', 'new role').choices(ACCOUNT_ROLES))
    .option('--source <name>', 'source that the account may see; repeat for several', collect)
    .addOption(new Option('--all-sources', 'allow the account to see all sources').conflicts('source'))
    .option('--password', 'set a new password')
    .option('--password-stdin', 'set a new password, read from standard input')
    .option('--totp', 'require one-time codes with a new key, and print it')
    .addOption(new Option('--no-totp', 'require no one-time codes').default(undefined))
    .option('--enable', 'enable an account that was removed')
    .action(async (name, { role, source, allSources, password, passwordStdin, totp, enable }) => {
      const { changePerson } = await import('./accounts.ts');
      const input = password === true || passwordStdin === true ? passwordInput(passwordStdin) : undefined;
      await runOnStore(settings, ({ db }) =>
        changePerson(db, name, {
          role,
          sources: allSources === true ? null : source,
          password: input,
          totp,
          isEnabled: enable,
        }),
      );
    });

  defineCommand(access, 'remove', 'disable an account, end its sessions and revoke its API tokens', [
    'xiq-sink access remove ada',
    'xiq-sink access remove ada --sql',
  ])
    .argument('<name>', 'account name; it stays reserved, because the operator log contains it')
    .option('--sql', 'remove the database login instead, and end its sessions')
    .action(async (name, { sql }) => {
      const { removePerson } = await import('./accounts.ts');
      const { removeSqlLogin } = await import('./sql-logins.ts');
      await runOnStore(settings, ({ db }) => (sql === true ? removeSqlLogin : removePerson)(db, name));
    });

  defineCommand(access, 'token', 'create an API token of an account, or revoke one', [
    'xiq-sink access token grafana --expires 90d --label dashboard',
    'xiq-sink access token --revoke 7',
  ])
    .argument('[name]', 'account name')
    .option('--expires <duration>', 'lifetime of the token, such as 12h, 90d or 52w', lifetime)
    .option('--label <text>', 'purpose of the token, such as the program that uses it')
    .addOption(
      new Option('--revoke <id>', 'revoke the token with this id')
        .argParser(wholeNumber)
        .conflicts(['expires', 'label']),
    )
    .action(async (name, { expires, label, revoke }) => {
      const { createToken, revokeToken } = await import('./accounts.ts');
      await runOnStore(settings, ({ db }) =>
        revoke === undefined ? createToken(db, { name, expires, label }) : revokeToken(db, revoke),
      );
    });
}

const collect = (source: string, earlier: readonly string[] = []): readonly string[] => [...earlier, source];

const passwordInput = (isPiped: boolean | undefined) => (isPiped === true ? 'stdin' : 'ask');

const MAX_HOURS = 10 * 365 * 24;

function lifetime(text: string): number {
  const hours = /^\d{1,5}[hdw]$/.test(text) ? (parseDuration(text) ?? 0) / HOUR_MS : 0;
  if (hours < 1 || hours > MAX_HOURS) {
    throw new InvalidArgumentError('It must be a duration such as 12h, 90d or 52w, at most ten years.');
  }
  return hours;
}
