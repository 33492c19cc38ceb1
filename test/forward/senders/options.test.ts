import { expect, test } from 'vitest';
import { kafkaOptions } from '../../../src/forward/senders/kafka-options.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { smtpOptions } from '../../../src/forward/senders/smtp.ts';

const MAIL = { host: 'mail.test', from: 'sink@example.com', to: 'noc@example.com' };
const SASL = { username: 'sink', password: 'secret' };

/** Options that are right. */
const RIGHT = {
  chat: { url: 'https://hooks.test/x', service: 'slack' },
  https: { url: 'https://siem.test/' },
  elasticsearch: { url: 'https://es.test', index: 'logs' },
  file: { path: '/var/log/events.jsonl' },
  kafka: { brokers: ['a'], topic: 'events' },
  s3: { bucket: 'events' },
  smtp: MAIL,
  syslog: { host: 'siem.test', transport: 'tcp' },
} as const;

/** Options that are wrong beside the others, and what is said: the option and, where it helps, the remedy. */
const WRONG: readonly (readonly [type: keyof typeof RIGHT, given: object, problem: RegExp])[] = [
  ['chat', { url: 'http://hooks.test/x' }, /^url: /],
  ['chat', { service: 'irc' }, /^service: must be slack or teams/],
  ['chat', { service: undefined }, /^service: must be slack or teams/],
  ['https', { url: 'http://siem.test/' }, /^url: /],
  ['https', { url: 'https://user:pass@siem.test/' }, /^url: /],
  ['https', { headers: { Host: 'other' } }, /^headers: must be valid HTTP headers/],
  ['https', { headers: { bad: 'a\nb' } }, /^headers: must be valid HTTP headers/],
  ['https', { signing_secret: 'whsec_c2hvcnQ=' }, /^signing_secret: must be whsec_.*openssl/],
  ['https', { content_type: 'json\r\nx: y' }, /^content_type: must be a media type/],
  ['https', { expect_status: 302 }, /^expect_status: /],
  ['https', { tls: { ca: 'no PEM' } }, /^tls\.ca: /],
  ['https', { tls: { verify: false } }, /^tls: /],
  ['elasticsearch', { url: 'es' }, /^url: .*an address/],
  ['elasticsearch', { index: 'Logs' }, /^index: must be the name of an index or data stream/],
  ['elasticsearch', { username: 'me' }, /^: set either api_key, or username and password/],
  ['file', { path: 'events.jsonl' }, /^path: /],
  ['file', { keep: 0 }, /^keep: /],
  ['file', { max_bytes: 1 }, /^max_bytes: /],
  ['kafka', { brokers: [] }, /^brokers: /],
  ['kafka', { brokers: ['kafka://a:9092'] }, /^brokers\.0: /],
  ['kafka', { topic: 'my events' }, /^topic: /],
  ['kafka', { sasl: SASL }, /^tls: /],
  ['kafka', { tls: {}, sasl: { ...SASL, mechanism: 'gssapi' } }, /^sasl\.mechanism: /],
  ['s3', { bucket: 'UPPER' }, /^bucket: /],
  ['s3', { prefix: 'no-slash' }, /^prefix: /],
  ['s3', { prefix: '/absolute/' }, /^prefix: /],
  ['s3', { access_key_id: 'id' }, /together/],
  ['smtp', { to: [] }, /^to: /],
  ['smtp', { to: ['noc@example.com\r\nBcc: thief@evil.test'] }, /^to\.0: /],
  ['smtp', { from: 'Sink <sink@example.com>' }, /^from: /],
  ['smtp', { security: 'none', auth: { user: 'sink', password: 'secret' } }, /^security: /],
  ['smtp', { auth: { user: 'sink' } }, /^auth\.password: /],
  ['syslog', { transport: 'sctp' }, /must have a transport: udp, tcp or tls/],
  ['syslog', { port: 0 }, /^port: must be a port from 1 to 65535/],
  ['syslog', { transport: 'udp', max_datagram_bytes: 70_000 }, /^max_datagram_bytes: must be 480 to/],
  ['syslog', { facility: 'mine' }, /^facility: must be one of kern, /],
  ['syslog', { transport: 'tls', tls: { key: 'x' } }, /^tls\.key: must be a private key in PEM form/],
];

test.each(WRONG)('%s: %j is refused, because of %s', (type, given, problem) => {
  const { options } = SENDER_TYPES[type];
  expect(options.safeParse(RIGHT[type]).success).toBe(true);
  const { issues = [] } = options.safeParse({ ...RIGHT[type], ...given }).error ?? {};
  const problems = issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  expect(problems).toContainEqual(expect.stringMatching(problem));
});

test('kafka takes brokers of any address, and a login over TLS', () => {
  const given = { brokers: ['kafka.test', '10.0.0.1:9093', '[::1]:9092'], topic: 'events' };
  expect(kafkaOptions.safeParse({ ...given, tls: {}, sasl: SASL }).success).toBe(true);
});

test.each([
  [{}, 'starttls'],
  [{ port: 25 }, 'starttls'],
  [{ port: 465 }, 'tls'],
  [{ host: '127.0.0.1', port: 25 }, 'none'],
  [{ host: 'localhost', auth: { user: 'sink', password: 'secret' } }, 'none'],
  [{ security: 'none' }, 'none'],
  [{ auth: { user: 'sink', password: 'secret' } }, 'starttls'],
])('mail with %j is sent with the security %s', (given, security) => {
  expect(smtpOptions.parse({ ...MAIL, ...given }).security).toBe(security);
});
