import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from './shared/options.ts';
import { print } from './shared/output.ts';
import { stopSignal } from './shared/process.ts';
import { quietLogger, type Settings } from './shared/run-on-store.ts';

export function defineMigrate(program: Command, settings: Settings): void {
  defineCommand(program, 'migrate', 'create the database or update its tables, then exit', [
    'xiq-sink migrate',
    'DATABASE_URL=postgresql://db.example/xiq xiq-sink migrate',
  ]).action(async () => {
    const config = await settings();
    const { prepareStore } = await import('../serve/open-store.ts');
    const applied = await prepareStore(config, await quietLogger(), {
      signal: stopSignal(),
      onProgress: ({ index, phase, percent }) =>
        print(`${index}: ${phase}${percent === undefined ? '' : `, ${percent} %`}`),
    });
    print(applied.length === 0 ? 'up to date' : `applied: ${applied.join(', ')}`);
  });
}
