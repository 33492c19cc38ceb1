import type { Command } from '@commander-js/extra-typings';
import { defineCommand, sourceOption } from '../shared/options.ts';
import { DIFFERENT } from '../shared/process.ts';
import type { Settings } from '../shared/run-on-store.ts';
import type { SubscribeContext } from './subscribe.ts';

export function defineSubscribe(program: Command, settings: Settings): void {
  const subscribe = program
    .command('subscribe')
    .description("manage this installation's webhook subscriptions");

  defineCommand(subscribe, 'plan', 'show what apply would create, update and delete', [
    'xiq-sink subscribe plan',
    'xiq-sink subscribe plan --check --json',
  ])
    .addOption(sourceOption())
    .option('--check', 'exit with code 3 if there are differences')
    .option('--json', 'print JSON')
    .action(async ({ source, check, json }) => {
      const { printPlan } = await import('./subscribe.ts');
      const isInOrder = await printPlan(await subscribing(source), json === true);
      if (check === true && !isInOrder) process.exitCode = DIFFERENT;
    });

  defineCommand(subscribe, 'apply', 'apply the configured subscriptions (safe to repeat)', [
    'xiq-sink subscribe apply',
    'WEBHOOK_SECRET=new,old xiq-sink subscribe apply',
  ])
    .addOption(sourceOption())
    .action(async ({ source }) => {
      const { applySubscriptions } = await import('./subscribe.ts');
      await applySubscriptions(await subscribing(source));
    });

  defineCommand(
    subscribe,
    'list',
    'list all subscriptions in the cloud, including those of other applications',
    ['xiq-sink subscribe list', 'xiq-sink subscribe list --json | jq .'],
  )
    .addOption(sourceOption())
    .option('--json', 'print JSON')
    .action(async ({ source, json }) => {
      const { printList } = await import('./subscribe.ts');
      await printList(await subscribing(source), json === true);
    });

  defineCommand(subscribe, 'remove', "delete only this installation's subscriptions", [
    'xiq-sink subscribe remove',
    'xiq-sink subscribe remove --yes',
  ])
    .addOption(sourceOption())
    .option('--yes', 'delete them; without this option, only show what would be deleted')
    .action(async ({ source, yes }) => {
      const { removeSubscriptions } = await import('./subscribe.ts');
      await removeSubscriptions(await subscribing(source), yes === true);
    });

  /** The context of a command. Its log also reports calls that are repeated, because they take time. */
  async function subscribing(source: string | undefined): Promise<SubscribeContext> {
    const { createLogger } = await import('../../lib/logger.ts');
    return { config: await settings(), logger: createLogger('info'), source };
  }
}
