import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { messages } from './messages.ts';

/** Options without which a type takes none. */
const TAKEN: Readonly<Record<string, object>> = {
  syslog: { transport: 'udp', host: 'siem.test' },
  relp: { host: 'siem.test' },
  'relp+tls': { host: 'siem.test' },
  splunk_hec: { url: 'https://siem.test', token: 'token' },
  elasticsearch: { url: 'https://siem.test' },
  https: { url: 'https://siem.test' },
  kafka: { brokers: ['siem.test'], topic: 'events' },
  sentinel: {
    endpoint: 'https://siem.test',
    rule_id: 'dcr-1',
    stream: 'Custom-Events',
    tenant_id: 'tenant',
    client_id: 'app',
    client_secret: 'secret',
  },
  s3: { bucket: 'network-events' },
  smtp: { host: 'mail.test', from: 'sink@siem.test', to: 'noc@siem.test' },
  chat: { url: 'https://chat.test/hook', service: 'slack' },
  file: { path: '/tmp/events' },
};

test('a sender is made from its options as the configuration has them', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-types-'));
  const file = path.join(directory, 'events');
  const sender = SENDER_TYPES.file.create({ path: file });
  await sender.send(messages(3));
  await sender.close();
  expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(4);
  await rm(directory, { recursive: true });
});

test.each(Object.entries(SENDER_TYPES))(
  '%s takes no option it does not know, and knows formats',
  (name, type) => {
    expect(type.formats).toContain('json');
    expect(type.options.safeParse({ ...TAKEN[name], surely_unknown: 1 }).error?.issues).toMatchObject([
      { code: 'unrecognized_keys' },
    ]);
  },
);
