import type { Command } from '@commander-js/extra-typings';
import { UsageError } from '../../lib/errors.ts';
import { defineCommand } from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import { quietLogger, settingsOf } from '../shared/run-on-store.ts';
import type { Environment } from '../../config/references.ts';

export function defineMoveTo(program: Command, env: Environment): void {
  defineCommand(
    program,
    'move-to',
    'move the embedded database to a Postgres server, with verification; serve must be stopped',
    [
      'xiq-sink move-to postgresql://xiq_sink@db.example:5432/xiq_sink',
      'BOOTSTRAP_DATABASE_URL=... READER_DATABASE_URL=... xiq-sink move-to postgresql://xiq_sink@db.example/xiq',
    ],
  )
    .argument('<database-url>', 'URL of an empty database, as you will set it in DATABASE_URL')
    .option('--json', 'print one object per table')
    .action(async (databaseUrl, { json = false }) => {
      if (env['DATABASE_URL'])
        throw new UsageError(
          'DATABASE_URL is set: this installation already uses a server. Unset it to move.',
        );
      const noServer = {
        READER_DATABASE_URL: undefined,
        MIGRATION_DATABASE_URL: undefined,
        BOOTSTRAP_DATABASE_URL: undefined,
      };
      const [from, to] = await Promise.all([
        settingsOf(() => ({ ...env, ...noServer }))(),
        settingsOf(() => ({ ...env, DATABASE_URL: databaseUrl }))(),
      ]);
      const { moveTo } = await import('./move.ts');
      await moveTo({ from, to, databaseUrl, json, logger: await quietLogger(), signal: stopSignal() });
    });
}
