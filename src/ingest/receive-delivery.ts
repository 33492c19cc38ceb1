import type { IncomingMessage } from 'node:http';
import type { Durability, SentType } from '../events/domain.ts';
import { HttpError, OutageError } from '../lib/errors.ts';
import { newDeliveryId, type QueuedDelivery } from '../queue/delivery-batch.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import type { FairQueue } from '../queue/fair-queue.ts';
import type { MemoryReservation } from './admission.ts';
import type { FailedSecrets } from './failed-secrets.ts';
import { normalizeSent } from './normalize-sent.ts';
import { chooseDecoder, readBody } from './read-body.ts';
import { isSigned, offersSecret, type SecretVerifier } from './verify-secret.ts';

/** The answer to the sender once its delivery is durable. */
export interface Receipt {
  readonly delivery_id: string;
  readonly records: number;
  readonly quarantined: number;
  readonly durability: Durability;
}

export interface ReceiveOptions {
  readonly verifier: SecretVerifier;
  /** Whether all sources are known. If not, a delivery that no known secret fits is to be sent again. */
  readonly knowsSources: () => boolean;
  readonly failedSecrets: FailedSecrets;
  readonly queue: Pick<FairQueue, 'enqueue'>;
  readonly maxBodyBytes: number;
  readonly observer: DeliveryObserver;
}

/** Source and message type that a delivery is sent to, and where it came from. */
export interface Addressed extends SentType {
  readonly source: string;
  readonly remoteAddress: string;
  /** Whether its sender has proven a secret of the source. Set while it is received. */
  isProven: boolean;
}

/** Seconds after which a sender should retry if neither queue nor spool can accept its delivery. */
const RETRY_AFTER_OUTAGE = 10;

/**
 * Receives one delivery, from its headers to the receipt. It returns only once every record is durable in the queue or
 * the spool; otherwise it throws the HttpError to answer with. It counts the memory that it uses in `reservation`.
 */
export async function receiveDelivery(
  request: IncomingMessage,
  addressed: Addressed,
  reservation: MemoryReservation,
  options: ReceiveOptions,
): Promise<Receipt> {
  const { verifier, knowsSources, failedSecrets, maxBodyBytes, observer } = options;
  const { source, messageType, sentType, remoteAddress } = addressed;
  const began = performance.now();
  const receivedAt = Date.now();
  const formInHeaders = verifier.verifyHeaders(source, request.headers);
  if (formInHeaders === undefined && !isSigned(request.headers)) {
    throw offersSecret(request.headers)
      ? await wrongSecret(failedSecrets, remoteAddress, knowsSources())
      : unauthorized();
  }
  addressed.isProven = formInHeaders !== undefined;
  const encoding = request.headers['content-encoding'];
  // Refuses an unknown encoding before a byte of the body is read.
  chooseDecoder(encoding);
  reservation.admit(addressed.isProven);
  const sent = await readBody(request, maxBodyBytes, reservation);
  if (formInHeaders === undefined) {
    if (!(await verifier.verifySignature(source, request.headers, sent))) {
      throw await wrongSecret(failedSecrets, remoteAddress, knowsSources());
    }
    addressed.isProven = true;
    reservation.prove();
  }
  reservation.received(sent.length);

  const { body, quarantined, rows, problem } = await normalizeSent(
    { sent, encoding, messageType, source },
    maxBodyBytes,
    reservation,
  );
  const deliveryId = newDeliveryId(receivedAt);
  const delivery: QueuedDelivery = {
    deliveryId,
    source,
    messageType,
    sentType,
    receivedAt,
    origin: 'webhook',
    secretForm: formInHeaders ?? 'hmac',
    bodyBytes: sent.length,
    ...body,
  };
  const durability = await enqueueOrRefuse(delivery, rows, options);
  observer.accepted(delivery, (performance.now() - began) / 1000);
  if (problem !== undefined) {
    const message = `${problem}; the body is kept in quarantine as delivery ${deliveryId}`;
    throw new HttpError(400, 'UNREADABLE_BODY', message);
  }
  return {
    delivery_id: deliveryId,
    records: body.recordCount,
    quarantined,
    durability,
  };
}

async function enqueueOrRefuse(delivery: QueuedDelivery, rows: number, { queue, observer }: ReceiveOptions) {
  try {
    return await observer.enqueue(delivery, () => queue.enqueue(delivery, rows));
  } catch (error) {
    if (!(error instanceof OutageError)) throw error;
    const options = { cause: error, retryAfter: RETRY_AFTER_OUTAGE };
    throw new HttpError(
      503,
      'QUEUE_UNAVAILABLE',
      'queue and spool are unavailable; send the delivery again',
      options,
    );
  }
}

/** The answer is the same whether the secret is missing or wrong or the source does not exist. */
function unauthorized(): HttpError {
  const message = 'the secret is missing or wrong, or the source is unknown';
  return new HttpError(401, 'UNAUTHORIZED', message);
}

async function wrongSecret(failedSecrets: FailedSecrets, remoteAddress: string, knowsSources: boolean) {
  // If counting fails, a wrong secret must still be answered as one.
  const retryAfter = await failedSecrets.count(remoteAddress).catch(() => undefined);
  if (retryAfter !== undefined) {
    return new HttpError(429, 'TOO_MANY_WRONG_SECRETS', 'too many wrong secrets from this address', {
      retryAfter,
    });
  }
  if (knowsSources) return unauthorized();
  const message = 'the sources are not known yet; send the delivery again';
  return new HttpError(503, 'SOURCES_UNKNOWN', message, { retryAfter: RETRY_AFTER_OUTAGE });
}
