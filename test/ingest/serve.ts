import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { Admission } from '../../src/ingest/admission.ts';
import { createFailedSecrets } from '../../src/ingest/failed-secrets.ts';
import type { HttpListener } from '../../src/ingest/http-listener.ts';
import { createIngestServer } from '../../src/ingest/ingest-server.ts';
import type { IngestServerOptions } from '../../src/ingest/ingest-server.ts';
import { createReadiness } from '../../src/observe/readiness.ts';
import type { Checks } from '../../src/observe/readiness.ts';
import { SecretVerifier } from '../../src/ingest/verify-secret.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { UNOBSERVED, type DeliveryObserver } from '../../src/queue/delivery-observer.ts';
import type { FairQueue } from '../../src/queue/fair-queue.ts';

export const SECRET = 'first-secret-0123456789';
export const SECOND_SECRET = 'other:secret:0123456789';

export const AUDIT = '/ingest/default/AUDIT_LOG_ALL';

type Body = string | Buffer<ArrayBuffer>;

/** A listener of one test, with what it has handed to the queue. */
export interface Serving {
  readonly server: HttpListener;
  readonly port: number;
  readonly deliveries: QueuedDelivery[];
  /** Everything logged, as text. */
  readonly log: () => string;
  /** Posts a body with a right secret, as a delivery of audit records unless told otherwise. */
  readonly post: (body: Body, headers?: Record<string, string>, path?: string) => Promise<Response>;
  readonly request: (path: string, init: RequestInit) => Promise<Response>;
}

/** Serves on a free port of 127.0.0.1 until the test is over. The queue takes everything, unless overridden. */
export async function serve({
  checks = {},
  enqueue,
  observer,
  ...overrides
}: Partial<Omit<IngestServerOptions, 'queue' | 'observer'>> & {
  checks?: Checks;
  enqueue?: FairQueue['enqueue'];
  observer?: Partial<DeliveryObserver>;
} = {}): Promise<Serving> {
  const deliveries: QueuedDelivery[] = [];
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
  const maxBodyBytes = overrides.maxBodyBytes ?? 100_000;
  const server = createIngestServer({
    knowsSources: () => true,
    verifier: new SecretVerifier([{ name: 'default', secrets: [SECRET, SECOND_SECRET] }]),
    failedSecrets: createFailedSecrets(),
    queue: {
      enqueue:
        enqueue ??
        (async (delivery) => {
          deliveries.push(delivery);
          return 'queued';
        }),
    },
    maxBodyBytes,
    admission: new Admission({ maxBytesInFlight: 64 * 1024 * 1024, maxBodyBytes, logger }),
    trustedProxies: undefined,
    readiness: createReadiness(checks, logger),
    observer: { ...UNOBSERVED, ...observer },
    tls: undefined,
    logger,
    ...overrides,
  });
  const port = await server.listen(0, '127.0.0.1');
  onTestFinished(() => server.close());
  const request = (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  return {
    server,
    port,
    deliveries,
    log: () => lines.join(''),
    request,
    post: (body, headers = {}, path = AUDIT) =>
      request(path, { method: 'POST', headers: { authorization: `Bearer ${SECRET}`, ...headers }, body }),
  };
}

/** A connection on which a test writes bytes itself. */
export interface RawConnection {
  readonly socket: Socket;
  /** What came back so far. */
  readonly received: () => string;
  /** Resolves once the other end has closed. */
  readonly closed: Promise<void>;
}

/** Connects, sends the pieces, and listens until the test is over. */
export function connectRaw(port: number, ...pieces: readonly (string | Uint8Array)[]): RawConnection {
  let received = '';
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.on('error', () => undefined);
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  for (const piece of pieces) socket.write(piece);
  onTestFinished(() => void socket.destroy());
  return { socket, received: () => received, closed };
}

/** The head of a POST as bytes on the wire, with a right secret. */
export const head = (...headers: readonly string[]) =>
  [`POST ${AUDIT} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${SECRET}`, ...headers, '', ''].join('\r\n');

/** One chunk of a chunked body. */
export const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** The one shape that errors have. */
export const ErrorBody = z.strictObject({
  error_code: z.string(),
  error_id: z.uuid(),
  error_message: z.string(),
});

/** The answer as status and error code, once its body is of the one shape that errors have. */
export async function refusal(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { error_code, error_message } = ErrorBody.parse(await response.json());
  return { status: response.status, code: error_code, message: error_message };
}
