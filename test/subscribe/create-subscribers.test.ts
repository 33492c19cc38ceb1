import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSubscribers } from '../../src/subscribe/subscriber.ts';
import type { SourceConfig } from '../../src/config/config.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

let apiUrl: string;
beforeEach(async () => {
  apiUrl = (await emulatorForTest()).url;
});

const source = (name: string, overrides: Partial<SourceConfig> = {}): SourceConfig => ({
  name,
  secrets: [`${name}-webhook-secret`, 'an-older-secret'],
  cloud: { apiUrl, credentials: EMULATOR_LOGINS.administrator },
  messageTypes: ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'],
  ...overrides,
});

const subscribersOf = (...sources: SourceConfig[]) =>
  createSubscribers({
    sources,
    publicUrl: 'https://sink.test',
    db: test.db,
    logger: pino({ enabled: false }),
  });

describe('the subscribers', () => {
  it('are those of the sources that have an API and a secret', () => {
    const subscribers = subscribersOf(
      source('a'),
      source('b', { cloud: undefined }),
      source('c', { secrets: [] }),
    );
    expect(subscribers.map((subscriber) => subscriber.source)).toEqual(['a']);
  });

  it('of one account leave each other alone, and register the first secret of their source', async () => {
    const [north, south] = subscribersOf(source('north'), source('south', { messageTypes: ['SMS_LOG_ALL'] }));
    await north?.apply('subscribed');
    await south?.apply('subscribed');
    expect((await north?.apply('subscribed'))?.outcomes).toEqual([]);
    await north?.apply('removed');
    expect((await south?.list())?.subscriptions).toMatchObject([
      { url: 'https://sink.test/ingest/south/SMS_LOG_ALL', isOurs: true },
    ]);
    expect((await south?.plan('subscribed'))?.steps).toMatchObject([{ action: 'keep' }]);
  });
});
