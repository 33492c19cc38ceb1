import tls from 'node:tls';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

const API_VERSIONS = 18;
const SASL_HANDSHAKE = 17;
const SASL_AUTHENTICATE = 36;
const SASL_AUTHENTICATION_FAILED = 58;

/**
 * A stand-in for a broker with TLS that refuses every log-in, by the protocol's own guide
 * (https://kafka.apache.org/protocol). `logins` has what clients sent to log in.
 */
export async function refusingBroker(secure: tls.TlsOptions) {
  const logins: string[] = [];
  const server = tls
    .createServer(secure, (socket) => {
      let unread = Buffer.alloc(0);
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        unread = Buffer.concat([unread, chunk]);
        while (unread.length >= 4 && unread.length >= 4 + unread.readInt32BE(0)) {
          const end = 4 + unread.readInt32BE(0);
          const request = unread.subarray(4, end);
          unread = unread.subarray(end);
          const answer = Buffer.concat([request.subarray(4, 8), answerTo(request, logins)]);
          socket.write(Buffer.concat([int32(answer.length), answer]));
        }
      });
    })
    .listen(0, '127.0.0.1');
  server.on('tlsClientError', () => undefined);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the broker has no port');
  return { port: address.port, logins };
}

/** A request begins with the number of the API, its version, a number to answer with, and the name of the client. */
function answerTo(request: Buffer, logins: string[]): Buffer {
  const api = request.readInt16BE(0);
  const body = request.subarray(10 + request.readInt16BE(8));
  if (api === API_VERSIONS) {
    const apis = [API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE].map((key) =>
      int16(key, 0, key === SASL_AUTHENTICATE ? 0 : 1),
    );
    return Buffer.concat([int16(0), int32(apis.length), ...apis, int32(0)]);
  }
  if (api === SASL_HANDSHAKE) {
    logins.push(body.subarray(2).toString());
    return Buffer.concat([int16(0), int32(0)]);
  }
  logins.push(body.subarray(4).toString());
  // No message, and no bytes of the mechanism.
  return Buffer.concat([int16(SASL_AUTHENTICATION_FAILED, -1), int32(0)]);
}

function int16(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(2 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeInt16BE(number, 2 * index);
  return bytes;
}

function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
}
