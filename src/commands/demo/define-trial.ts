import type { Command } from '@commander-js/extra-typings';
import { EMULATOR_OPTIONS } from '../../../emulator/command-options.ts';
import { flagOf } from '../flag-of.ts';
import { examples } from '../options.ts';
import { stopSignal } from '../stop-signal.ts';

/** The commands `demo` and `emulator`, which need no cloud. */
export function defineTrial(program: Command, env: Readonly<Record<string, string | undefined>>): void {
  program
    .command('demo')
    .description('an emulated cloud and this program subscribed to it, to look at, until Ctrl-C')
    .addHelpText('after', examples('xiq-sink demo', 'PORT=9000 xiq-sink demo'))
    .action(async () => {
      const signal = stopSignal();
      const { runDemo } = await import('./demo.ts');
      const { createLogger } = await import('../../logger.ts');
      await runDemo(env, createLogger('error'), signal);
    });

  const emulator = program
    .command('emulator')
    .description('run a stand-in for the cloud, for demos and tests, until Ctrl-C')
    .addHelpText('after', examples('xiq-sink emulator', 'xiq-sink emulator --rate 200 --secret-form hmac'))
    .action(async (options) => {
      const signal = stopSignal();
      const { printEmulator } = await import('./emulator.ts');
      const { quietLogger } = await import('../quiet-logger.ts');
      await printEmulator(options, quietLogger(), signal);
    });
  for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
    emulator.option(`${flagOf(name)} <value>`, meaning, usual);
  }
}
