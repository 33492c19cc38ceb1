import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import type { Environment } from '../../config/references.ts';

export function defineDemo(program: Command, env: Environment): void {
  defineCommand(program, 'demo', 'run the program with an emulated cloud that sends events, until Ctrl-C', [
    'xiq-sink demo',
    'PORT=9000 xiq-sink demo',
  ]).action(async () => {
    const signal = stopSignal();
    const { LOG_LEVEL_OF_DEMO, runDemo } = await import('./demo.ts');
    const { createLogger } = await import('../../lib/logger.ts');
    await runDemo(env, createLogger(LOG_LEVEL_OF_DEMO), signal);
  });
}
