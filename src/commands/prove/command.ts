import type { Command } from '@commander-js/extra-typings';
import { defineCommand, eventId } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineProve(program: Command, settings: Settings): void {
  defineCommand(program, 'prove', 'write a proof of one event that third parties can check', [
    'xiq-sink prove 0b8e4f8e-6d0a-8a3f-9c4e-2f6d1f0a7b11',
    'xiq-sink prove 0b8e4f8e-6d0a-8a3f-9c4e-2f6d1f0a7b11 --output -',
  ])
    .argument('<event-id>', 'id of the event', eventId)
    .option('--output <file>', 'file to write; - for standard output (default: EVENT_ID.tlog-proof)')
    .addHelpText(
      'after',
      '\nThe file is a C2SP tlog-proof and contains the event. Any tool for that format\ncan check it. With the private key, the command also writes EVENT_ID.cose, a\nCOSE receipt (RFC 9942).',
    )
    .action(async (id, { output = `${id}.tlog-proof` }) => {
      const { prove } = await import('./prove.ts');
      await runOnStore(settings, ({ events }, config) => prove(events, config, id, output));
    });
}
