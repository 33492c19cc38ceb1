import { connect } from 'node:net';
import { callbackify } from 'node:util';
import { Client } from 'pg';
import { isLoopbackHost } from '../../lib/loopback.ts';

/** Parameters of a connection string that are about TLS. */
const TLS_PARAMETERS = ['sslmode', 'ssl', 'sslrootcert', 'sslcert', 'sslkey'];

/** The connection string for pg, which interprets `sslmode` in its own way unless configured otherwise. */
interface Connection {
  readonly connectionString: string;
  /** Without TLS if the server does not offer it: `OptionalTlsClient` finds out. */
  readonly isTlsOptional: boolean;
}

/**
 * Gives `sslmode`, `sslrootcert`, `sslcert` and `sslkey` the meaning that they have for psql and other programs with libpq:
 * without `sslmode`, TLS is used if the server offers it, except on this machine. `allow` is the same as `prefer`.
 */
export function connectionOf(databaseUrl: string): Connection {
  const url = URL.parse(databaseUrl);
  if (url === null) return { connectionString: databaseUrl, isTlsOptional: false };
  const { searchParams } = url;
  const host = searchParams.get('host') ?? decodeURIComponent(url.hostname).replaceAll(/[[\]]/g, '');
  const isSocketFile = host === '' || host.startsWith('/');
  const namesTls = TLS_PARAMETERS.some((name) => searchParams.has(name));
  // pg has its own parameter, `ssl`.
  if (searchParams.has('ssl') || (!namesTls && (isSocketFile || isLoopbackHost(host)))) {
    return { connectionString: databaseUrl, isTlsOptional: false };
  }
  if (isSocketFile) searchParams.set('sslmode', 'disable');
  if (searchParams.get('sslrootcert') === 'system') {
    searchParams.delete('sslrootcert');
    searchParams.set('sslmode', 'verify-full');
  }
  const mode = searchParams.get('sslmode') ?? 'prefer';
  const isTlsOptional = mode === 'allow' || mode === 'prefer';
  searchParams.set('sslmode', isTlsOptional ? 'prefer' : mode);
  searchParams.set('uselibpqcompat', 'true');
  return { connectionString: url.href, isTlsOptional };
}

type OnConnected = (error: unknown, client?: Client) => void;

/** A connection that continues without TLS if the server does not offer it. */
export class OptionalTlsClient extends Client {
  override connect(): Promise<Client>;
  override connect(callback: OnConnected): void;
  override connect(callback?: OnConnected): Promise<Client> | undefined {
    const connecting = this.#connect();
    if (callback === undefined) return connecting;
    callbackify(() => connecting)(callback);
    return undefined;
  }

  async #connect(): Promise<Client> {
    if (!(await offersTls(this.host, this.port))) {
      Object.assign(this, { ssl: false });
      Object.assign(this.connection, { ssl: false });
    }
    return super.connect();
  }
}

/** PostgreSQL manual, "Message Formats": SSLRequest, its length and its code. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

const OFFER_TIMEOUT_MS = 10_000;

/** Whether a server offers TLS. True also if it does not answer: then the connection fails, with the reason. */
function offersTls(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, host, () => socket.write(SSL_REQUEST));
  socket.setTimeout(OFFER_TIMEOUT_MS, () => socket.destroy());
  socket.once('data', (answer) => {
    resolve(answer.toString() !== 'N');
    socket.destroy();
  });
  socket.on('error', () => resolve(true));
  socket.on('close', () => resolve(true));
  return promise;
}
