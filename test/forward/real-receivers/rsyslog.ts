import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runReceiver, type Certificates, type Ports, type Receiver } from './receiver.ts';

/** Modules that distributions put into packages of their own. */
const MODULES = {
  'imptcp.so': 'rsyslog',
  'lmnsd_ossl.so': 'rsyslog-openssl',
  'imrelp.so': 'rsyslog-relp',
};

/** Writes the fields of a ReceivedMessage as a line of JSON. */
const FIELDS = `template(name="fields" type="list" option.jsonf="on") {
  property(outname="text" name="msg" format="jsonf")
  property(outname="event_id" name="structured-data" format="jsonf"
    regex.type="ERE" regex.expression="event_id=\\"([^\\"]*)\\"" regex.submatch="1")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="message_type" name="msgid" format="jsonf")
  property(outname="priority" name="pri" format="jsonf")
}`;

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

/** Starts rsyslog with files of a name in the directory. `configure` gets the file for the messages. */
async function startWith<Transport extends string>(
  command: string,
  directory: string,
  name: string,
  ports: Readonly<Record<Transport, number>>,
  configure: (outputFile: string) => string,
): Promise<Receiver<Transport>> {
  const file = (ending: string) => path.join(directory, `${name}.${ending}`);
  const outputFile = file('jsonl');
  await writeFile(file('conf'), configure(outputFile));
  const args = ['-n', '-f', file('conf'), '-i', file('pid')];
  return runReceiver({ command, args, env: {}, ports, outputFile });
}

/** Starts rsyslog with files in the directory. It accepts messages of up to 256 kB, and client certificates of `client`. */
export const startRsyslog = (
  command: string,
  directory: string,
  ports: Ports,
  { server, client }: Certificates,
): Promise<Receiver> =>
  startWith(
    command,
    directory,
    'rsyslog',
    ports,
    (outputFile) => `
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
${FIELDS}
action(type="omfile" file="${outputFile}" template="fields")
`,
  );

/**
 * Starts rsyslog as a RELP receiver, with and without TLS. Its queue is `Direct`: it answers after it has written an
 * event, so that nothing it has accepted is in its memory only.
 */
export const startRelpReceiver = (
  command: string,
  directory: string,
  ports: RelpPorts,
  { server, client }: Certificates,
): Promise<Receiver<keyof RelpPorts>> =>
  startWith(
    command,
    directory,
    'rsyslog-relp',
    ports,
    (outputFile) => `
global(workDirectory="${directory}" maxMessageSize="256k" parser.escapeControlCharactersOnReceive="off")
main_queue(queue.type="Direct")
module(load="imrelp" tls.tlslib="openssl")
input(type="imrelp" address="127.0.0.1" port="${ports.tcp}" maxDataSize="256k")
input(type="imrelp" address="127.0.0.1" port="${ports.tls}" maxDataSize="256k" tls="on" tls.authMode="certvalid"
  tls.caCert="${client.certFile}" tls.myCert="${server.certFile}" tls.myPrivKey="${server.keyFile}")
${FIELDS}
action(type="omfile" file="${outputFile}" template="fields")
`,
  );

export type RelpPorts = Readonly<Record<'tcp' | 'tls', number>>;

/** Starts rsyslog with a TCP port that closes connections of this machine, which is no allowed sender. */
export const startStrictRsyslog = (command: string, directory: string, tcp: number) =>
  startWith(
    command,
    directory,
    'strict',
    { tcp },
    (outputFile) => `
$AllowedSender TCP, 192.0.2.0/24
module(load="imtcp")
input(type="imtcp" address="127.0.0.1" port="${tcp}")
if $programname == "xiq-sink" then action(type="omfile" file="${outputFile}")
`,
  );
