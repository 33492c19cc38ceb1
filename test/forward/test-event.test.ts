import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseDestinations } from '../../src/forward/parse-destinations.ts';
import { sendTest } from '../../src/forward/send-to-destination.ts';
import { SYSLOG_FORMATS } from '../../src/forward/senders/sender-types.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { tcpServer } from '../support/tcp-server.ts';

/** The syslog message of a test event, as a receiver reads it. */
async function received(format: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { port } = await tcpServer((socket) => void text(socket).then(resolve));
  const given = {
    name: 'siem',
    type: 'syslog',
    transport: 'tcp',
    host: '127.0.0.1',
    port,
    format,
    timeout_seconds: 0.2,
  };
  const [destination] = parseDestinations(forwardingSettings({ destinations: [given] }));
  if (destination === undefined) throw new Error('there is no destination');
  expect(await sendTest(destination, () => undefined)).toMatchObject({ refusal: undefined });
  return promise;
}

/** What a rule could match: words for changes, logins and the types that the cloud sends. */
const ALARMING = /chang|config|logged in|log(?:in|out)|authent|iam|AUDIT_LOG|"type":\[|"category":\[/i;

test.each(SYSLOG_FORMATS)(
  'a test event says in %s that it is one, and matches no rule on changes',
  async (format) => {
    const message = await received(format);
    expect(message).toMatch(/ xiq-sink - OTHER \[xiq@32473 .* source="xiq-sink-test"\] /);
    expect(message).toContain('TEST EVENT of xiq-sink: nothing happened');
    expect(message).toContain('XIQ-SINK-TEST');
    expect(message).not.toMatch(ALARMING);
  },
);

test('each format has the mark where its rules look for the event’s id', async () => {
  expect(await received('cef')).toMatch(/CEF:0\|[^|]*\|[^|]*\|[^|]*\|XIQ-SINK-TEST\|/);
  expect(await received('leef')).toMatch(/LEEF:2\.0\|[^|]*\|[^|]*\|[^|]*\|XIQ-SINK-TEST\|/);
  const json = async (format: string) => {
    const message = await received(format);
    return z.looseObject({}).parse(JSON.parse(message.slice(message.indexOf('{'))));
  };
  expect(await json('json')).toMatchObject({ message_type: 'OTHER', sent_type: 'XIQ-SINK-TEST' });
  expect(await json('ecs')).toMatchObject({ event: { code: 'XIQ-SINK-TEST', kind: 'event' } });
  expect(await json('ocsf')).toMatchObject({ class_uid: 0, metadata: { event_code: 'XIQ-SINK-TEST' } });
});
