import { expect, onTestFinished, test } from 'vitest';
import { describeError, OutageError } from '../../../src/lib/errors.ts';
import { sendBisecting } from '../../../src/forward/send-batch.ts';
import { EndpointRefusedError, RetryLaterError } from '../../../src/forward/sender.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { waitFor } from '../../support/wait-for.ts';
import { message, messages } from './messages.ts';
import { RECEIVERS, type Conduct, type Receiver, type Trial, type Way } from './receivers.ts';

const BATCH = messages(5);
const idsOf = (batch: typeof BATCH) => batch.map(({ event }) => event.eventId);

const certificate = useCertificate('DNS:siem.test');

async function start(
  way: Way,
  conduct: Conduct,
  { name = 'siem.test', isKnown = true, timeoutSeconds = 10 } = {},
): Promise<Receiver> {
  const trust = { server_name: name, ...(isKnown && { ca: certificate.cert }) };
  const receiver = await way.start({ conduct, certificate, trust, timeoutSeconds });
  onTestFinished(() => receiver.sender.close().catch(() => undefined));
  return receiver;
}

/** Why a batch is not accepted: an error that names the receiver, has a cause or an answer, and quotes no secret. */
async function failureOf({ secrets = [] }: Way, { sender, place }: Receiver): Promise<unknown> {
  const failure: unknown = await sender.send(BATCH).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(describeError(failure)).toContain(place);
  const everything = `${describeError(failure)} ${JSON.stringify(causesOf(failure))}`;
  for (const secret of secrets) expect(everything).not.toContain(secret);
  return failure;
}

const causesOf = (error: unknown): string[] =>
  error instanceof Error ? [error.message, error.stack ?? '', ...causesOf(error.cause)] : [];

/** The same sender accepts the batch at the next attempt, whole and in order. */
async function recovers({ sender, ...receiver }: Receiver, mend: () => void): Promise<void> {
  mend();
  expect(await sender.send(BATCH)).toEqual([]);
  await sender.close();
  await expect.poll(() => receiver.accepted()).toEqual(idsOf(BATCH));
}

/** So long a sender waits for an answer that does not come, or never ends. On a busy machine, good ones took half a second. */
const WAITING = { timeoutSeconds: 1 };

const isOutage =
  (conduct: Conduct, given: { readonly timeoutSeconds?: number } = {}) =>
  async (way: Way): Promise<void> => {
    const receiver = await start(way, conduct, given);
    expect(await failureOf(way, receiver)).toBeInstanceOf(OutageError);
    await recovers(receiver, () => (receiver.conduct = 'accepts'));
  };

const isNotTrusted =
  (given: { readonly name?: string; readonly isKnown?: boolean }, reason: RegExp) =>
  async (way: Way): Promise<void> => {
    const receiver = await start(way, 'accepts', given);
    const failure = await failureOf(way, receiver);
    expect(failure).toBeInstanceOf(OutageError);
    expect(describeError(failure)).toMatch(reason);
    expect(receiver.asked()).toBe(0);
  };

const TRIALS: Readonly<Record<Trial, (way: Way) => Promise<void>>> = {
  async accepts(way) {
    const { sender, accepted } = await start(way, 'accepts');
    for (const [from, count] of [
      [0, 2],
      [2, 1],
      [3, 2],
    ] as const) {
      expect(await sender.send(messages(count, from))).toEqual([]);
    }
    await sender.close();
    await expect.poll(accepted).toEqual(idsOf(BATCH));
  },

  async 'refuses a part'(way) {
    const { sender, accepted } = await start(way, 'refuses a part');
    const batch = BATCH.with(2, way.refused ?? message(2));
    const { settled, rejected } = await sendBisecting(sender, batch);
    expect(settled).toBe(batch.length);
    expect(rejected.map((one) => one.message)).toEqual([batch[2]]);
    expect(rejected[0]?.reason).toMatch(/\w/);
    await sender.close();
    await expect.poll(accepted).toEqual(idsOf(batch.toSpliced(2, 1)));
  },

  async 'refuses all'(way) {
    const receiver = await start(way, 'refuses all');
    const failure = await receiver.sender.send(BATCH).catch((error: unknown) => error);
    if (Array.isArray(failure)) expect(failure).toHaveLength(BATCH.length);
    else expect(await failureOf(way, receiver)).toBeInstanceOf(EndpointRefusedError);
    expect(await receiver.accepted()).toEqual([]);
  },

  async throttles(way) {
    const failure = await failureOf(way, await start(way, 'throttles'));
    expect(failure).toBeInstanceOf(RetryLaterError);
    expect(failure).toMatchObject({ afterMs: 17_000 });
  },

  'is silent': isOutage('is silent', WAITING),
  'answers half': isOutage('answers half'),
  'closes early': isOutage('closes early'),

  async redirects(way) {
    const receiver = await start(way, 'redirects');
    const failure = await failureOf(way, receiver);
    expect(failure).toBeInstanceOf(EndpointRefusedError);
    expect(describeError(failure)).toContain(receiver.elsewhere?.host);
    expect(receiver.elsewhere?.received).toEqual([]);
  },

  async 'answers without end'(way) {
    // A request to a bucket may take ten times as long.
    const receiver = await start(way, 'answers without end', { timeoutSeconds: 0.3 });
    expect(await failureOf(way, receiver)).toBeInstanceOf(Error);
  },

  async 'is away'(way) {
    expect(await failureOf(way, await start(way, 'is away'))).toBeInstanceOf(OutageError);
  },

  async 'is left'(way) {
    const receiver = await start(way, 'is silent', { timeoutSeconds: 100 });
    const sending = failureOf(way, receiver);
    await waitFor(receiver.asked);
    await receiver.sender.close();
    expect(await sending).toBeInstanceOf(OutageError);
  },

  'is a stranger': isNotTrusted({ isKnown: false }, /(?:self-signed|unable to verify)(?!.*--use-system-ca)/),
  'has another name': isNotTrusted({ name: 'other.test' }, /altnames/),
};

/** Tries every trial that exists for a way at the same time, because most of them wait for a time-out. */
const tryAll = (name: string, way: Way) =>
  Object.entries(TRIALS)
    .filter(([trial]) => !(trial in way.lacks))
    .map(([trial, run]) =>
      run(way).catch((cause: unknown) => {
        throw new Error(`${name}, where the receiver ${trial}`, { cause });
      }),
    );

test.skipIf(!hasOpenssl).each(Object.entries(RECEIVERS))(
  '%s (needs openssl on PATH)',
  async (_type, ways) => {
    expect.hasAssertions();
    await Promise.all(Object.entries(ways).flatMap(([name, way]) => tryAll(name, way)));
  },
);

test('every registered type is in the table of receivers', () => {
  expect(Object.keys(RECEIVERS).toSorted()).toEqual(Object.keys(SENDER_TYPES).toSorted());
});

test.each(Object.entries(SENDER_TYPES))('%s takes no unknown option, and carries JSON', (_type, type) => {
  const { error } = type.options.safeParse({ transport: 'udp', surely_unknown: 1 });
  const unknown = error?.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  expect(unknown).toContain('surely_unknown');
  expect(type.formats).toContain('json');
});
