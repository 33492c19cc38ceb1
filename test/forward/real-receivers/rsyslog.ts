import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestCertificate } from '../../support/certificates.ts';
import { runReceiver } from './receiver.ts';
import type { Ports, Receiver } from './receiver.ts';

/** Modules that distributions put into packages of their own. */
const MODULES = { 'imptcp.so': 'rsyslog', 'lmnsd_ossl.so': 'rsyslog-openssl' };

/** The modules that this rsyslog lacks, with their packages; undefined if it has all that the test needs. */
export function missingOfRsyslog(command: string): string | undefined {
  const prefix = path.resolve(path.dirname(command), '..');
  const missing = Object.entries(MODULES).filter(
    ([module]) => globSync(`${prefix}/lib{,64}/{,*/}rsyslog/${module}`).length === 0,
  );
  return missing.length === 0
    ? undefined
    : missing.map(([module, owner]) => `rsyslog lacks ${module}: install ${owner}`).join(', ');
}

/** Starts rsyslog with files in the directory. It accepts messages of up to 256 kB, and client certificates of `client`. */
export async function startRsyslog(
  command: string,
  directory: string,
  ports: Ports,
  { server, client }: { server: TestCertificate; client: TestCertificate },
): Promise<Receiver> {
  const configFile = path.join(directory, 'rsyslog.conf');
  const outputFile = path.join(directory, 'rsyslog.jsonl');
  await writeFile(
    configFile,
    `
global(workDirectory="${directory}" maxMessageSize="256k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${client.certFile}"
  defaultNetstreamDriverCertFile="${server.certFile}" defaultNetstreamDriverKeyFile="${server.keyFile}")
main_queue(queue.size="200000" queue.timeoutShutdown="10000")
module(load="imudp")
module(load="imptcp")
module(load="imtcp" StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid"
  MaxFrameSize="262144")
input(type="imudp" address="127.0.0.1" port="${ports.udp}")
input(type="imptcp" address="127.0.0.1" port="${ports.tcp}" MaxFrameSize="262144")
input(type="imptcp" address="127.0.0.1" port="${ports.lf}" SupportOctetCountedFraming="off")
input(type="imtcp" address="127.0.0.1" port="${ports.tls}")
template(name="fields" type="list" option.jsonf="on") {
  property(outname="text" name="msg" format="jsonf")
  property(outname="event_id" name="structured-data" format="jsonf"
    regex.type="ERE" regex.expression="event_id=\\"([^\\"]*)\\"" regex.submatch="1")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="message_type" name="msgid" format="jsonf")
  property(outname="priority" name="pri" format="jsonf")
}
action(type="omfile" file="${outputFile}" template="fields")
`,
  );
  const args = ['-n', '-f', configFile, '-i', path.join(directory, 'rsyslog.pid')];
  return runReceiver({ command, args, env: {}, ports, outputFile });
}
