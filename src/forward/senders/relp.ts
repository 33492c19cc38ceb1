import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import type { Message, Refusal, Sender } from '../sender.ts';
import { openRelpSession, type RelpSession } from './relp-session.ts';
import { syslogCommon, syslogMessage, syslogTimeout } from './syslog.ts';
import { portOption, tlsOptions } from './connection-options.ts';

export const relpOptions = z.strictObject({
  ...syslogCommon,
  /** None is registered for RELP; examples of rsyslog often use this one. */
  port: portOption(2514),
  timeout_seconds: syslogTimeout,
});

export const relpTlsOptions = relpOptions.extend({ tls: tlsOptions.prefault({}) });

type RelpOptions = z.output<typeof relpOptions> & Partial<z.output<typeof relpTlsOptions>>;

/**
 * How many events may be without an answer: the usual window of librelp. These are the ones that a receiver may get
 * twice if the session breaks, since it may have accepted them without being able to say so.
 */
export const RELP_WINDOW = 128;

/**
 * Sends RFC 5424 messages over RELP, the acknowledged protocol of rsyslog, in one session for all batches. The receiver
 * answers for each event: 200 accepts it, any other code rejects that event.
 */
export function createRelpSender(options: RelpOptions): Sender {
  const { host, port, tls, timeout_seconds } = options;
  const name = `relp at ${tls === undefined ? 'relp' : 'relp+tls'}://${host}:${port}`;
  const connect = () => openRelpSession({ host, port, tls, timeoutMs: timeout_seconds * 1000 });
  let session: RelpSession | undefined;
  let failed: FailedBatch | undefined;

  return {
    async send(batch) {
      const first = batch[0]?.event.eventId;
      // A batch that begins elsewhere is another one: an operator wants events again.
      const accepted = failed !== undefined && failed.first === first ? failed.accepted : new Set<string>();
      const remaining = [...batch.entries()].filter(([, { event }]) => !accepted.has(event.eventId));
      failed = { first, accepted };
      try {
        if (session === undefined || session.isBroken()) session = await connect();
        const refusals = await deliverAll(session, remaining, options, accepted);
        failed = undefined;
        return refusals;
      } catch (cause) {
        await session?.close();
        const missing = batch.length - accepted.size;
        throw new OutageError(`${name} did not accept ${missing} of ${batch.length} events`, { cause });
      }
    },
    async close() {
      await session?.close();
    },
  };
}

/** A batch whose session broke. Events that were accepted until then are not sent again. */
interface FailedBatch {
  /** The id of its first event: the next attempt begins with the same one. */
  readonly first: string | undefined;
  readonly accepted: Set<string>;
}

/** Sends the messages in order and adds the id of each accepted event to `accepted`, also if it rejects in the end. */
async function deliverAll(
  session: RelpSession,
  messages: readonly (readonly [number, Message])[],
  options: RelpOptions,
  accepted: Set<string>,
): Promise<readonly Refusal[]> {
  const refusals: Refusal[] = [];
  const remaining = messages.values();
  const deliverInTurn = async () => {
    for (const [index, message] of remaining) {
      const { code, text } = await session.deliver(syslogMessage(message, options));
      if (code === 200) accepted.add(message.event.eventId);
      else refusals.push({ index, reason: `the receiver answered ${code} ${text}`.trim() });
    }
  };
  await Promise.all(Array.from({ length: RELP_WINDOW }, deliverInTurn));
  return refusals;
}
