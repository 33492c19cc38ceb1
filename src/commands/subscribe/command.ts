import type { Command } from '@commander-js/extra-typings';
import { examples, sourceOption } from '../shared/options.ts';
import { DIFFERENT } from '../shared/process.ts';
import type { Settings } from '../shared/run-on-store.ts';
import type { SubscribeContext } from './subscribe.ts';

/** The commands `subscribe plan|apply|list|remove`. */
export function defineSubscribe(program: Command, settings: Settings): void {
  const subscribe = program
    .command('subscribe')
    .description("manage this installation's webhook subscriptions");

  subscribe
    .command('plan')
    .description('show what apply would create, update and delete')
    .addOption(sourceOption())
    .option('--check', 'exit with code 3 if there are differences')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('xiq-sink subscribe plan', 'xiq-sink subscribe plan --check --json'))
    .action(async ({ source, check, json }) => {
      const { printPlan } = await import('./subscribe.ts');
      const isInOrder = await printPlan(await subscribing(source), json === true);
      if (check === true && !isInOrder) process.exitCode = DIFFERENT;
    });

  subscribe
    .command('apply')
    .description('apply the configured subscriptions (safe to repeat)')
    .addOption(sourceOption())
    .addHelpText(
      'after',
      examples('xiq-sink subscribe apply', 'WEBHOOK_SECRET=new,old xiq-sink subscribe apply'),
    )
    .action(async ({ source }) => {
      const { applySubscriptions } = await import('./subscribe.ts');
      await applySubscriptions(await subscribing(source));
    });

  subscribe
    .command('list')
    .description('list all subscriptions in the cloud, including those of other applications')
    .addOption(sourceOption())
    .option('--json', 'print JSON')
    .addHelpText('after', examples('xiq-sink subscribe list', 'xiq-sink subscribe list --json | jq .'))
    .action(async ({ source, json }) => {
      const { printList } = await import('./subscribe.ts');
      await printList(await subscribing(source), json === true);
    });

  subscribe
    .command('remove')
    .description("delete this installation's subscriptions and no others")
    .addOption(sourceOption())
    .option('--yes', 'delete them; without this option, only show what would be deleted')
    .addHelpText('after', examples('xiq-sink subscribe remove', 'xiq-sink subscribe remove --yes'))
    .action(async ({ source, yes }) => {
      const { removeSubscriptions } = await import('./subscribe.ts');
      await removeSubscriptions(await subscribing(source), yes === true);
    });

  /** The context of a command. Its log also reports calls that are repeated, because they take time. */
  async function subscribing(source: string | undefined): Promise<SubscribeContext> {
    const { createLogger } = await import('../../logger.ts');
    return { config: await settings(), logger: createLogger('info'), source };
  }
}
