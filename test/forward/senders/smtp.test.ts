import { describe, expect, test } from 'vitest';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { formatText } from '../../../src/forward/formats/text.ts';
import { BatchRefusedError, EndpointRefusedError } from '../../../src/forward/sender.ts';
import { createSmtpSender, smtpOptions } from '../../../src/forward/senders/smtp.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { mailServer } from './mail-server.ts';
import { messages, storedEvent, untilTestEnds } from './messages.ts';

const PASSWORD = 'a-password-that-nobody-may-see';
const ADDRESSES = { from: 'xiq-sink@example.com', to: ['noc@example.com', 'security@example.com'] };

const senderTo = (port: number, more: object = {}) =>
  untilTestEnds(createSmtpSender(smtpOptions.parse({ host: '127.0.0.1', port, ...ADDRESSES, ...more })));

const failureOf = (sending: Promise<unknown>) =>
  sending.then(() => undefined).catch((error: unknown) => error);

test('a batch is one mail to all recipients, a paragraph for each event', async () => {
  const { port, mails } = await mailServer();
  const batch = [1, 2, 3].map((number) => {
    const event = storedEvent(number, `Grüße ${number}`);
    return { event, text: formatText(event) };
  });
  expect(await senderTo(port).send(batch)).toEqual([]);
  expect(mails).toHaveLength(1);
  expect(mails[0]).toMatchObject({
    recipients: ADDRESSES.to,
    headers: {
      from: 'xiq-sink@example.com',
      to: 'noc@example.com, security@example.com',
      'auto-submitted': 'auto-generated',
    },
  });
  const paragraphs = mails[0]?.body.trimEnd().split('\n\n');
  expect(paragraphs).toEqual(batch.map(({ text }) => text));
  for (const { event } of batch) expect(mails[0]?.body).toContain(event.eventId);
});

test('a batch has the same message id when it is sent again, another batch another', async () => {
  const { port, mails } = await mailServer();
  await senderTo(port).send(messages(2));
  const sender = senderTo(port);
  await sender.send(messages(2));
  await sender.send(messages(3));
  await sender.send(messages(3));
  const ids = mails.map(({ headers }) => headers['message-id']);
  expect(ids[0]).toMatch(/^<msg_[\w-]{43}@example\.com>$/);
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[1]);
  expect(ids[3]).toBe(ids[2]);
});

test.each([
  [undefined, 1, '1 event: {"event_id":"00000000-0000-8000-8000-000000000000","description":"event 0"}'],
  ['[network] {events}', 3, '[network] 3 events'],
  ['{first} {other}', 1, /^\{"event_id":.* \{other\}$/],
])('the subject %j of %i events', async (subject, count, expected) => {
  const { port, mails } = await mailServer();
  await senderTo(port, subject === undefined ? {} : { subject }).send(messages(count));
  expect(mails[0]?.headers['subject']).toMatch(expected);
});

test('hostile text adds no header, recipient, mail or command', async () => {
  const { port, mails } = await mailServer();
  const hostile = 'x\r\nBcc: thief@evil.test\r\n\r\nforged\r\n.\r\nMAIL FROM:<a@b.c>\r\n\0\u2028{events}';
  const event = storedEvent(1, hostile);
  // Also a text of a format that has several lines.
  await senderTo(port).send([{ event, text: hostile }]);
  await senderTo(port).send([{ event, text: formatText(event) }]);
  expect(mails.map(({ recipients }) => recipients)).toEqual([ADDRESSES.to, ADDRESSES.to]);
  for (const { headers } of mails) {
    expect(Object.keys(headers).toSorted()).toEqual([
      'auto-submitted',
      'content-transfer-encoding',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ]);
  }
  expect(mails[0]?.body).toContain('forged\n.\nMAIL FROM:<a@b.c>');
  expect(mails[1]?.body.trimEnd().split('\n')).toHaveLength(1);
});

describe('an answer means', () => {
  const answer = (code: number) => ({ code, text: 'because' });

  test.each([
    ['451 to the log-in', { logIn: () => answer(451) }, OutageError],
    ['535 to the log-in', { logIn: () => answer(535) }, EndpointRefusedError],
    ['450 to the sender', { sender: answer(450) }, OutageError],
    ['550 to the sender', { sender: answer(550) }, EndpointRefusedError],
    ['450 to all recipients', { recipient: () => answer(450) }, OutageError],
    ['550 to all recipients', { recipient: () => answer(550) }, EndpointRefusedError],
    ['452 to the content', { content: () => answer(452) }, OutageError],
    ['554 to the content', { content: () => answer(554) }, BatchRefusedError],
    ['503, which concerns the session,', { content: () => answer(503) }, OutageError],
  ])('%s: %o', async (_what, script, expected) => {
    const { port } = await mailServer(script, undefined, { allowInsecureAuth: true });
    const auth = 'logIn' in script ? { auth: { user: 'sink', password: PASSWORD } } : {};
    const error = await failureOf(senderTo(port, { ...auth, timeout_seconds: 2 }).send(messages(2)));
    expect(error).toBeInstanceOf(expected);
    expect(describeError(error)).toMatch(/^smtp at 127\.0\.0\.1:\d+ did not accept the mail.*: /);
  });
});

test('only the recipients for whom the server has not accepted a mail get it again', async () => {
  let isGrey = true;
  const { port, mails } = await mailServer({
    recipient: (address) =>
      isGrey && address.startsWith('noc@') ? { code: 450, text: 'come again' } : undefined,
  });
  const to = ['noc@example.com', 'Security@EXÄMPLE.com'];
  const sender = senderTo(port, { to });
  const error = await failureOf(sender.send(messages(2)));
  expect(error).toBeInstanceOf(OutageError);
  expect(describeError(error)).toContain('for noc@example.com');
  isGrey = false;
  await sender.send(messages(2));
  expect(mails.map(({ recipients }) => recipients)).toEqual([['Security@exämple.com'], ['noc@example.com']]);
  expect(mails[1]?.headers['message-id']).toBe(mails[0]?.headers['message-id']);
  // Once it is accepted, the same batch is what an operator wants to have again.
  await sender.send(messages(2));
  expect(mails[2]?.recipients).toEqual(['noc@example.com', 'Security@exämple.com']);
});

test('a recipient that does not exist stops the destination, by name', async () => {
  const { port } = await mailServer({
    recipient: (address) => (address.startsWith('noc@') ? { code: 550, text: 'no such user' } : undefined),
  });
  const error = await failureOf(senderTo(port).send(messages(1)));
  expect(error).toBeInstanceOf(EndpointRefusedError);
  expect(describeError(error)).toContain('for noc@example.com');
});

test('no mail goes out without the log-in that is set', async () => {
  const { port, mails } = await mailServer();
  const auth = { user: 'sink', password: PASSWORD };
  expect(await failureOf(senderTo(port, { auth }).send(messages(1)))).toBeInstanceOf(EndpointRefusedError);
  expect(mails).toEqual([]);
});

describe.skipIf(!hasOpenssl)('TLS (needs openssl on PATH to make certificates)', () => {
  const certificate = useCertificate('DNS:mail.test');

  const auth = { user: 'sink', password: PASSWORD };
  const trusting = () => ({ tls: { ca: certificate.cert, server_name: 'mail.test' }, auth });

  test.each(['starttls', 'tls'])('%s encrypts log-in and mail', async (security) => {
    const logIns: unknown[] = [];
    const logIn = (user: unknown, password: unknown) => void logIns.push([user, password]);
    const { port, mails } = await mailServer({ logIn }, certificate, { secure: security === 'tls' });
    await senderTo(port, { security, ...trusting() }).send(messages(1));
    expect(logIns).toEqual([['sink', PASSWORD]]);
    expect(mails).toMatchObject([{ isEncrypted: true, user: 'sink' }]);
  });

  test('a server without STARTTLS gets neither log-in nor mail', async () => {
    const { port, mails } = await mailServer();
    const error = await failureOf(senderTo(port, { security: 'starttls', auth }).send(messages(1)));
    expect(error).toBeInstanceOf(EndpointRefusedError);
    expect(describeError(error)).toContain('STARTTLS');
    expect(mails).toEqual([]);
  });

  test.each([
    ['an unknown authority', () => ({ server_name: 'mail.test' }), /self-signed/],
    ['another name', () => ({ ca: certificate.cert, server_name: 'other.test' }), /altnames/],
  ])('a certificate of %s is not trusted after STARTTLS', async (_name, tls, reason) => {
    const { port, mails } = await mailServer({}, certificate);
    const error = await failureOf(senderTo(port, { security: 'starttls', tls: tls() }).send(messages(1)));
    expect(error).toBeInstanceOf(OutageError);
    expect(describeError(error)).toMatch(reason);
    expect(mails).toEqual([]);
  });
});
