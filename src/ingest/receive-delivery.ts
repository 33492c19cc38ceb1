import type { IncomingMessage } from 'node:http';
import type { Durability, MessageType, SentType } from '../domain.ts';
import { HttpError, OutageError } from '../errors.ts';
import { newDeliveryId } from '../queue/delivery-batch.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import type { InFlight } from './admission.ts';
import type { FailedSecrets } from '../failed-secrets.ts';
import type { UnreadableError } from './normalize.ts';
import { normalizeSent } from './normalize-sent.ts';
import { chooseDecoder, readBody } from './read-body.ts';
import type { SecretVerifier } from './verify-secret.ts';

/** The answer to the sender once its delivery is durable. */
export interface Receipt {
  readonly delivery_id: string;
  readonly records: number;
  readonly quarantined: number;
  readonly durability: Durability;
}

/** Counts requests by their outcome. It must not throw. */
export interface IngestObserver {
  /** A delivery has become durable, this many seconds after its headers arrived. */
  taken(delivery: QueuedDelivery, seconds: number): void;
  /** A request is answered with an error of this HTTP status. */
  refused(status: number): void;
  /** A delivery with a valid secret is refused for now: its sender should send it again. */
  deferred(source: string, messageType: MessageType): void;
}

/** The dependencies of receiving a delivery. */
export interface ReceiveOptions {
  readonly verifier: SecretVerifier;
  /** Whether all sources are known. If not, a delivery that no known secret fits is to be sent again. */
  readonly knowsSources: () => boolean;
  readonly failedSecrets: FailedSecrets;
  readonly enqueue: (delivery: QueuedDelivery) => Promise<Durability>;
  readonly maxBodyBytes: number;
  readonly observer: IngestObserver;
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
 * the spool; otherwise it throws the HttpError to answer with. It counts the memory that it uses in `inFlight`.
 */
export async function receiveDelivery(
  request: IncomingMessage,
  addressed: Addressed,
  inFlight: InFlight,
  { verifier, knowsSources, failedSecrets, enqueue, maxBodyBytes, observer }: ReceiveOptions,
): Promise<Receipt> {
  const { source, messageType, sentType, remoteAddress } = addressed;
  const began = performance.now();
  const receivedAt = Date.now();
  const formInHeaders = verifier.verifyHeaders(source, request.headers);
  if (formInHeaders === undefined && !verifier.isSigned(request.headers)) {
    throw verifier.isOffered(request.headers)
      ? await wrongSecret(failedSecrets, remoteAddress, knowsSources())
      : unauthorized();
  }
  addressed.isProven = formInHeaders !== undefined;
  const encoding = request.headers['content-encoding'];
  // Refuses an unknown encoding before a byte of the body is read.
  chooseDecoder(encoding);
  inFlight.admit(addressed.isProven);
  const sent = await readBody(
    request,
    maxBodyBytes,
    (bytes) => inFlight.add(bytes),
    (cut) => inFlight.reading(cut),
  );
  if (formInHeaders === undefined) {
    if (!(await verifier.verifySignature(source, request.headers, sent))) {
      throw await wrongSecret(failedSecrets, remoteAddress, knowsSources());
    }
    addressed.isProven = true;
    inFlight.prove();
  }
  inFlight.received(sent.length);

  const { body, quarantined, unreadable } = await normalizeSent(
    { sent, encoding, source },
    maxBodyBytes,
    (bytes) => inFlight.charge(bytes),
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
  const durability = await enqueueOrRefuse(enqueue, delivery);
  observer.taken(delivery, (performance.now() - began) / 1000);
  if (unreadable !== undefined) throw keptInQuarantine(deliveryId, unreadable);
  return {
    delivery_id: deliveryId,
    records: body.recordCount,
    quarantined,
    durability,
  };
}

async function enqueueOrRefuse(
  enqueue: ReceiveOptions['enqueue'],
  delivery: QueuedDelivery,
): Promise<Durability> {
  try {
    return await enqueue(delivery);
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

async function wrongSecret(
  failedSecrets: FailedSecrets,
  remoteAddress: string,
  knowsSources: boolean,
): Promise<HttpError> {
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

function keptInQuarantine(deliveryId: string, unreadable: UnreadableError): HttpError {
  const message = `${unreadable.message}; it is kept in quarantine as delivery ${deliveryId}`;
  return new HttpError(400, 'UNREADABLE_BODY', message, { cause: unreadable });
}
