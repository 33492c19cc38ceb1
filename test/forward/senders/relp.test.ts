import { describe, expect, test } from 'vitest';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { createRelpSender, RELP_WINDOW, relpOptions } from '../../../src/forward/senders/relp.ts';
import { waitFor } from '../../support/wait-for.ts';
import { message, messages, syslogTexts, untilTestEnds } from './messages.ts';
import { ACCEPTED, acceptAll, relpReceiver, rsp } from './relp-stand-in.ts';

const senderTo = (port: number, more: object = {}) =>
  untilTestEnds(
    createRelpSender(relpOptions.parse({ host: '127.0.0.1', hostname: 'sink.test', port, ...more })),
  );

const failureOf = (sending: Promise<unknown>) =>
  sending.then(() => undefined).catch((error: unknown) => error);

test('one session carries all batches: open, a transaction for each event, close', async () => {
  const { port, commands } = await relpReceiver();
  const sender = senderTo(port);
  const batches = [[message(1, 'a\nb'), message(2, 'Grüße 🚀')], messages(2, 3)];
  for (const batch of batches) expect(await sender.send(batch)).toEqual([]);
  await sender.close();
  expect(commands).toEqual([
    [
      { txnr: 1, command: 'open', data: 'relp_version=0\nrelp_software=xiq-sink\ncommands=syslog' },
      ...syslogTexts(batches.flat()).map((data, index) => ({ txnr: index + 2, command: 'syslog', data })),
      { txnr: 6, command: 'close', data: '' },
    ],
  ]);
});

test('a batch is accepted only after the answer to its last event, and so many events wait for one', async () => {
  const waiting: (() => void)[] = [];
  const { port, events } = await relpReceiver((socket, command) => {
    if (command.command === 'syslog') waiting.push(() => acceptAll(socket, command));
    else acceptAll(socket, command);
  });
  const sender = senderTo(port);
  const batch = messages(RELP_WINDOW + 10);
  let isSent = false;
  const sent = sender.send(batch).then(() => (isSent = true));
  await waitFor(() => waiting.length === RELP_WINDOW);
  waiting[0]?.();
  await waitFor(() => waiting.length === RELP_WINDOW + 1);
  for (let answered = 1; answered < batch.length - 1; answered++) {
    await waitFor(() => waiting[answered]);
    waiting[answered]?.();
  }
  expect(isSent).toBe(false);
  waiting.at(-1)?.();
  await sent;
  expect(events(0)).toEqual(syslogTexts(batch));
});

describe('after a session that broke within a batch', () => {
  /** Accepts 3 events in its first session, takes two more without an answer, and dies. */
  const dying = () =>
    relpReceiver((socket, command, connection) => {
      if (connection > 0 || command.txnr <= 4) acceptAll(socket, command);
      else if (command.txnr === 6) socket.end();
    });

  test('only the events without an answer are sent again, in order', async () => {
    const { port, events } = await dying();
    const sender = senderTo(port);
    const failure = await failureOf(sender.send(messages(5)));
    expect(failure).toBeInstanceOf(OutageError);
    expect(describeError(failure)).toMatch(
      /^relp at relp:\/\/127\.0\.0\.1:\d+ did not accept 2 of 5 events: the receiver closed the connection$/,
    );
    // The next attempt may have read more events.
    expect(await sender.send(messages(7))).toEqual([]);
    expect(events(1)).toEqual(syslogTexts(messages(4, 3)));
    // Sent again on request after that, they are sent.
    await sender.send(messages(2));
    expect(events(1)).toEqual(syslogTexts([...messages(4, 3), ...messages(2)]));
  });

  test('a batch that begins with another event is sent whole', async () => {
    const { port, events } = await dying();
    const sender = senderTo(port);
    await failureOf(sender.send(messages(5)));
    await sender.send(messages(4, 1));
    expect(events(1)).toEqual(syslogTexts(messages(4, 1)));
  });

  test('a rejected event is sent again with those without an answer', async () => {
    const { port, events } = await relpReceiver((socket, command, connection) => {
      if (command.txnr === 2) socket.write(rsp(2, '500 no'));
      else if (command.txnr === 3) socket.write(rsp(3, '500'));
      else if (command.txnr < 5 || connection > 0) acceptAll(socket, command);
      else socket.end();
    });
    const sender = senderTo(port);
    await failureOf(sender.send(messages(4)));
    expect(await sender.send(messages(4))).toEqual([
      { index: 0, reason: 'the receiver answered 500 no' },
      { index: 1, reason: 'the receiver answered 500' },
    ]);
    expect(events(1)).toEqual(syslogTexts([message(0), message(1), message(3)]));
  });
});

test('a session that the receiver closed between batches is opened anew, without an outage', async () => {
  const { port, sockets, events } = await relpReceiver();
  const sender = senderTo(port);
  await sender.send(messages(2));
  sockets[0]?.end('0 serverclose 0\n');
  await waitFor(() => sockets[0]?.closed);
  expect(await sender.send(messages(2, 2))).toEqual([]);
  expect([events(0), events(1)]).toEqual([syslogTexts(messages(2)), syslogTexts(messages(2, 2))]);
});

test('a session outlives the time-out while nothing is sent', async () => {
  const { port, sockets } = await relpReceiver();
  const sender = senderTo(port, { timeout_seconds: 0.1 });
  const quick = senderTo(await relpReceiver(() => undefined).then((silent) => silent.port), {
    timeout_seconds: 0.3,
  });
  await sender.send(messages(1));
  // Its time-out is longer than the one of the idle session.
  await failureOf(quick.send(messages(1)));
  await sender.send(messages(1));
  expect(sockets).toHaveLength(1);
});

const OPENED = rsp(1, ACCEPTED);
test.each([
  ['no answer to open', '', '', /no answer for 200 ms/],
  ['no answer to an event', OPENED, '', /no answer for 200 ms/],
  ['another protocol', 'HTTP/1.1 400 Bad Request\r\n', '', /answered not in RELP but with "HTTP\/1\.1 400/],
  [
    'a refused session',
    rsp(1, '500 required feature missing'),
    '',
    /refused the session: 500 required feature/,
  ],
  ['no offers', rsp(1, '200 OK'), '', /opened the session without relp_version/],
  ['no syslog', rsp(1, '200 OK\nrelp_version=0\ncommands=other'), '', /does not offer the command syslog/],
  ['no commands', rsp(1, '200 OK\nrelp_version=0'), '', /does not offer the command syslog/],
  ['an answer to nothing', OPENED, rsp(9, '200 OK'), /answered transaction 9, which is not open/],
  ['the same answer twice', OPENED, OPENED, /answered transaction 1, which is not open/],
  ['an answer without a code', OPENED, rsp(2, 'fine'), /answer 2 has no code/],
  ['a command', OPENED, '2 syslog 1 x\n', /sent the command syslog/],
  ['serverclose', OPENED, '0 serverclose 0\n', /the receiver closed the session/],
])('%s is an outage that says so, and the next session works', async (_name, toOpen, toEvent, problem) => {
  const { port, events } = await relpReceiver((socket, command, connection) => {
    if (connection > 0) acceptAll(socket, command);
    else socket.write(command.command === 'open' ? toOpen : toEvent);
  });
  const sender = senderTo(port, { timeout_seconds: 0.2 });
  const failure = await failureOf(sender.send(messages(1)));
  expect(failure).toBeInstanceOf(OutageError);
  expect(describeError(failure)).toMatch(problem);
  expect(await sender.send(messages(1))).toEqual([]);
  expect(events(1)).toEqual(syslogTexts(messages(1)));
});

test('answers may arrive byte by byte and in any order', async () => {
  const open: number[] = [];
  const { port } = await relpReceiver((socket, command) => {
    if (command.command !== 'syslog') return acceptAll(socket, command);
    open.push(command.txnr);
    if (open.length < 3) return;
    for (const byte of open
      .toReversed()
      .map((txnr) => rsp(txnr, '200 OK'))
      .join(''))
      socket.write(byte);
  });
  expect(await senderTo(port).send(messages(3))).toEqual([]);
});
