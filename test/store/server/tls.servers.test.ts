import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool, withClient } from '../../../src/store/server/postgres.ts';
import {
  hasOpenssl,
  makeCertificate,
  makeSignedCertificate,
  type TestCertificate,
} from '../../support/certificates.ts';
import {
  debianProgram,
  hasDebianPostgres,
  startDebianPostgres,
  type DebianPostgres,
} from '../../support/debian-postgres.ts';

const SERVERS = ['good', 'expired', 'of another host', 'without TLS'] as const;
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
const ROOTS = ['no', 'the right', 'a wrong'] as const;
const CASES = SERVERS.flatMap((server) =>
  MODES.flatMap((mode) => ROOTS.map((root) => ({ server, mode, root }))),
);

type Outcome = 'encrypted' | 'plain' | 'refused';

const IS_ENCRYPTED = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';

describe.skipIf(!hasDebianPostgres || !hasOpenssl)('sslmode (needs postgresql and openssl)', () => {
  const certificates = new Map<string, TestCertificate>();
  const servers = new Map<string, DebianPostgres>();
  let foreign: TestCertificate;

  beforeAll(async () => {
    certificates.set('good', makeSignedCertificate(1, 'IP:127.0.0.1'));
    certificates.set('expired', makeSignedCertificate(-1, 'IP:127.0.0.1'));
    // pg, too, once took any certificate for an address that names this machine.
    certificates.set('of another host', makeSignedCertificate(1, 'DNS:localhost', 'IP:127.0.0.2'));
    foreign = makeCertificate('IP:127.0.0.1');
    for (const name of SERVERS) {
      const certificate = certificates.get(name);
      const withTls = certificate && {
        settings: { ssl: 'on' },
        files: { 'server.crt': certificate.cert, 'server.key': certificate.key },
      };
      servers.set(name, await startDebianPostgres(withTls));
    }
  });
  afterAll(async () => {
    for (const server of servers.values()) await server.stop();
    for (const certificate of [...certificates.values(), foreign]) certificate[Symbol.dispose]();
  });

  function urlOf(server: string, mode: string, root: string): string {
    const url = new URL(servers.get(server)?.url ?? '');
    url.searchParams.set('sslmode', mode);
    const right = certificates.get(server) ?? foreign;
    if (root !== 'no') url.searchParams.set('sslrootcert', (root === 'a wrong' ? foreign : right).certFile);
    if (root === 'a wrong' && server === 'without TLS') url.searchParams.set('sslrootcert', foreign.certFile);
    return url.href;
  }

  async function ours(url: string): Promise<Outcome> {
    try {
      const { rows } = await withClient(url, (client) => client.query<{ ssl: boolean }>(IS_ENCRYPTED));
      return rows[0]?.ssl === true ? 'encrypted' : 'plain';
    } catch {
      return 'refused';
    }
  }

  function psql(url: string): Outcome {
    const env = { HOME: '/nonexistent' };
    const { status, stdout } = spawnSync(debianProgram('psql'), ['-AtX', '-c', IS_ENCRYPTED, url], { env });
    if (status !== 0) return 'refused';
    return stdout.toString().trim() === 't' ? 'encrypted' : 'plain';
  }

  it.each(CASES)('$mode, server $server, $root authority: as psql', async ({ server, mode, root }) => {
    const url = urlOf(server, mode, root);
    // psql goes on without TLS where a certificate is wrong. Neither mode promises any.
    const isOptional = mode === 'allow' || mode === 'prefer';
    const best = server === 'without TLS' ? 'plain' : 'encrypted';
    const expected = psql(url);
    expect(await ours(url)).toBe(isOptional && expected !== 'refused' ? best : expected);
  });

  it.each(SERVERS)('a pool negotiates on each connection, server %s', async (server) => {
    const pool = createPool({ connectionString: urlOf(server, 'prefer', 'no'), max: 3 }, () => undefined);
    const answers = await Promise.all(Array.from({ length: 9 }, () => pool.query(IS_ENCRYPTED)));
    for (const { rows } of answers) expect(rows).toEqual([{ ssl: server !== 'without TLS' }]);
    await pool.end();
  });
});
