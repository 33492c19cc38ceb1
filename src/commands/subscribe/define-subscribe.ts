import type { Command } from '@commander-js/extra-typings';
import { DIFFERENT } from '../exit-codes.ts';
import { examples, sourceOption } from '../options.ts';
import type { Settings } from '../settings.ts';
import type { SubscribeContext } from './subscribe.ts';

/** The commands `subscribe plan|apply|list|remove`. */
export function defineSubscribe(program: Command, settings: Settings): void {
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
      const { printPlan } = await import('./subscribe.ts');
      const isInOrder = await printPlan(await subscribing(source), json === true);
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
    .action(async ({ source }) => {
      const { applySubscriptions } = await import('./subscribe.ts');
      await applySubscriptions(await subscribing(source));
    });

  subscribe
    .command('list')
    .description('the subscriptions that the cloud holds, those of other applications included')
    .addOption(sourceOption())
    .option('--json', 'print JSON')
    .addHelpText('after', examples('xiq-sink subscribe list', 'xiq-sink subscribe list --json | jq .'))
    .action(async ({ source, json }) => {
      const { printList } = await import('./subscribe.ts');
      await printList(await subscribing(source), json === true);
    });

  subscribe
    .command('remove')
    .description("delete this program's subscriptions, and no others")
    .addOption(sourceOption())
    .option('--yes', 'do it; without, only show what would be deleted')
    .addHelpText('after', examples('xiq-sink subscribe remove', 'xiq-sink subscribe remove --yes'))
    .action(async ({ source, yes }) => {
      const { removeSubscriptions } = await import('./subscribe.ts');
      await removeSubscriptions(await subscribing(source), yes === true);
    });

  /** What a command works with; its log also tells of calls that are repeated, for they take time. */
  async function subscribing(source: string | undefined): Promise<SubscribeContext> {
    const { createLogger } = await import('../../logger.ts');
    return { config: await settings(), logger: createLogger('info'), source };
  }
}
