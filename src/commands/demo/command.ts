import type { Command } from '@commander-js/extra-typings';
import { examples } from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';

/** The command `demo`, which needs no cloud. */
export function defineDemo(program: Command, env: Readonly<Record<string, string | undefined>>): void {
  program
    .command('demo')
    .description('run the program with an emulated cloud that sends events, until Ctrl-C')
    .addHelpText('after', examples('xiq-sink demo', 'PORT=9000 xiq-sink demo'))
    .action(async () => {
      const signal = stopSignal();
      const { runDemo } = await import('./demo.ts');
      const { createLogger } = await import('../../logger.ts');
      await runDemo(env, createLogger('error'), signal);
    });
}
