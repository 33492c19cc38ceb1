import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { overviewOptions } from '../../src/serve/console-overview.ts';
import type { TypeSilence } from '../../src/observe/silence/silence.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();

/** The overview beside a watch that has found these silences. */
const overviewOf = (watched: readonly TypeSilence[], env = {}, secretFile?: string) =>
  overviewOptions(loadConfig(env), database.db, () => [], {
    readiness: async () => ({ checks: [] }),
    queue: async () => ({ waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingSeconds: undefined }),
    watched: () => watched,
    secretFile,
  });

const silenceOf = (messageType: TypeSilence['messageType'], state: TypeSilence['state']): TypeSilence => ({
  source: 'default',
  messageType,
  lastReceivedAt: state === 'never' ? undefined : new Date(Date.now() - 3_600_000),
  state,
  silentSeconds: 3_600,
  expected: 100,
  longestUsualSeconds: 60,
});

test('a delivery ends a silence at once, although the watch looks once a minute', async () => {
  const before = new Date(Date.now() - 39_000);
  const found = [
    silenceOf('AUDIT_LOG_ALL', 'unusual'),
    silenceOf('SMS_LOG_ALL', 'unknown'),
    silenceOf('EMAIL_LOG_ALL', 'unusual'),
    silenceOf('GDPR_LOG_ALL', 'never'),
  ];
  const { silences } = overviewOf(found);
  expect((await silences()).map(({ sentence, ...silence }) => [silence, sentence])).toEqual([
    [found[0], expect.stringMatching(/^nothing for 1 h; about 100 deliveries/)],
    [found[1], expect.stringContaining('not enough history yet')],
    [found[2], expect.stringMatching(/^nothing for 1 h; /)],
    [found[3], expect.stringContaining('nothing has ever arrived')],
  ]);
  for (const messageType of ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'] as const)
    await deliverAndCount(database.db, { receivedAt: before, messageType });
  const now = await silences();
  expect(now.map(({ state }) => state)).toEqual(['usual', 'unknown', 'unusual', 'never']);
  expect(now[0]).toMatchObject({
    lastReceivedAt: before,
    sentence: expect.stringMatching(/^nothing for [34]\d s, which is usual/) as unknown,
  });
  // Without findings of a watch, those of the database.
  const read = await overviewOf([]).silences();
  expect(read.map(({ messageType, state }) => [messageType, state])).toEqual([
    ['AUDIT_LOG_ALL', 'unknown'],
    ['SMS_LOG_ALL', 'unknown'],
  ]);
});

test.each([
  [{}, 'http://localhost:8080/ingest/default/'],
  [{ TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k', PORT: '9000' }, 'https://localhost:9000/ingest/default/'],
  [{ PUBLIC_URL: 'https://sink.example' }, 'https://sink.example/ingest/default/'],
])('the first delivery goes, with %j, to %s', (env, address) => {
  expect(overviewOf([], env).firstDelivery).toContain(address);
  expect(overviewOf([], env, '/data/webhook-secret').firstDelivery).toContain('/data/webhook-secret');
});
