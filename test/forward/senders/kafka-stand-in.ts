import type { Socket } from 'node:net';
import type tls from 'node:tls';
import { endless } from '../../support/stand-in.ts';
import { tcpServer } from '../../support/tcp-server.ts';

/** Numbers of the protocol (https://kafka.apache.org/protocol), with the version that the stand-in offers. */
const PRODUCE = 0;
const METADATA = 3;
const SASL_HANDSHAKE = 17;
const API_VERSIONS = 18;
const INIT_PRODUCER_ID = 22;
const SASL_AUTHENTICATE = 36;
const OFFERED = [
  [PRODUCE, 3],
  [METADATA, 1],
  [SASL_HANDSHAKE, 1],
  [API_VERSIONS, 1],
  [INIT_PRODUCER_ID, 0],
  [SASL_AUTHENTICATE, 0],
] as const;

const UNSUPPORTED_VERSION = 35;
export const SASL_AUTHENTICATION_FAILED = 58;
export const INVALID_RECORD = 87;
export const TOPIC_AUTHORIZATION_FAILED = 29;

interface BrokerScript {
  /** The error of every log-in; 0 accepts it. */
  readonly login?: number;
  /** The error of a request with these records, in latin1; 0 accepts it. The others are no whole answer. */
  readonly produce?: (records: string) => number | 'silent' | 'half' | 'cut' | 'endless';
}

/** A stand-in for a broker with TLS that leads the only partition of `events`. `logins` has what clients sent to log in. */
export async function kafkaBroker(
  secure: tls.TlsOptions,
  { login = 0, produce = () => 0 }: BrokerScript,
): Promise<{
  readonly port: number;
  readonly sockets: readonly Socket[];
  readonly logins: readonly string[];
}> {
  const logins: string[] = [];

  /** A request begins with the number of the API, its version, a number to answer with, and the name of the client. */
  function answer(socket: Socket, request: Buffer): void {
    const reply = (...parts: readonly Buffer[]) => {
      const content = Buffer.concat([request.subarray(4, 8), ...parts]);
      socket.write(Buffer.concat([int32(content.length), content]));
    };
    const body = request.subarray(10 + request.readInt16BE(8));
    switch (request.readInt16BE(0)) {
      case API_VERSIONS: {
        // As older brokers answer: the client then asks again by version 1.
        if (request.readInt16BE(2) > 1) return reply(int16(UNSUPPORTED_VERSION), int32(0));
        const apis = OFFERED.map(([key, version]) => int16(key, version, version));
        return reply(int16(0), int32(apis.length), ...apis, int32(0));
      }
      case SASL_HANDSHAKE:
        logins.push(body.subarray(2).toString());
        return reply(int16(0), int32(0));
      case SASL_AUTHENTICATE:
        logins.push(body.subarray(4).toString());
        // No message, and no bytes of the mechanism.
        return reply(int16(login, -1), int32(0));
      case METADATA:
        return reply(int32(1, 1), string('127.0.0.1'), int32(port), int16(-1), int32(1, 1), ...TOPIC);
      case INIT_PRODUCER_ID:
        return reply(int32(0), int16(0), int64(1n), int16(0));
      default: {
        const outcome = produce(body.toString('latin1'));
        if (outcome === 'cut') socket.destroy();
        else if (outcome === 'half') socket.end(int32(100));
        else if (outcome === 'endless') {
          socket.write(int32(0x7f_ff_ff_ff));
          endless(socket);
        } else if (outcome !== 'silent') {
          const partition = [int32(0), int16(outcome), int64(0n), int64(-1n)];
          reply(int32(1), string('events'), int32(1), ...partition, int32(0));
        }
      }
    }
  }

  const { port, sockets } = await tcpServer(
    (socket) => {
      let unread = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        unread = Buffer.concat([unread, chunk]);
        while (unread.length >= 4 && unread.length >= 4 + unread.readInt32BE(0)) {
          const end = 4 + unread.readInt32BE(0);
          answer(socket, unread.subarray(4, end));
          unread = unread.subarray(end);
        }
      });
    },
    { secure },
  );
  return { port, sockets, logins };
}

/** Broker 1 leads partition 0, and is its only replica. */
const TOPIC = [int16(0), string('events'), Buffer.alloc(1), int32(1), int16(0), int32(0, 1, 1, 1, 1, 1)];

function string(text: string): Buffer {
  return Buffer.concat([int16(text.length), Buffer.from(text)]);
}

function int16(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(2 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeInt16BE(number, 2 * index);
  return bytes;
}

function int32(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, 4 * index);
  return bytes;
}

function int64(number: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(number);
  return bytes;
}
