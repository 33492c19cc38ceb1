import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { standIn, type StandIn } from './stand-in.ts';

/** A time-stamp authority (RFC 3161) that answers with `openssl ts`. */
export interface TimestampAuthority extends StandIn {
  /** Answers with this status instead of a time-stamp. */
  fail(status: number | undefined): void;
  /** Throws if `openssl ts -verify` does not accept an answer for a text. */
  verify(answer: Buffer, text: string): void;
}

const SETTINGS = `[tsa]
default_tsa = test
[test]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = sha256
`;

/** Starts an authority. It needs `openssl`. */
export async function startTimestampAuthority(): Promise<TimestampAuthority> {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-tsa-'));
  const write = (name: string, content: string | Buffer) =>
    writeFileSync(path.join(directory, name), content);
  const openssl = (line: string) =>
    execFileSync('openssl', line.split(' '), { stdio: 'pipe', cwd: directory });
  write('serial', '01\n');
  write('ts.conf', SETTINGS);
  openssl(
    'req -x509 -days 2 -newkey rsa:2048 -nodes -keyout key.pem -subj /CN=tsa.test -addext extendedKeyUsage=critical,timeStamping -out ca.pem',
  );
  let failure: number | undefined;
  const server = await standIn(({ bytes }) => {
    if (failure !== undefined) return { status: failure };
    write('query', bytes);
    openssl('ts -reply -config ts.conf -queryfile query -signer ca.pem -inkey key.pem -out answer');
    return { raw: readFileSync(path.join(directory, 'answer')) };
  });
  return {
    ...server,
    fail(status) {
      failure = status;
    },
    verify(answer, text) {
      write('given', answer);
      write('data', text);
      openssl('ts -verify -data data -in given -CAfile ca.pem');
    },
  };
}
