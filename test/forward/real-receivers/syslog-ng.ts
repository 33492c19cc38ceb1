import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runReceiver, type Certificates, type Ports, type Receiver } from './receiver.ts';

/** Starts syslog-ng with files in the directory. It accepts messages of up to 256 kB, and client certificates of `client`. */
export async function startSyslogNg(
  command: string,
  directory: string,
  ports: Ports,
  { server, client }: Certificates,
): Promise<Receiver> {
  const configFile = path.join(directory, 'syslog-ng.conf');
  const outputFile = path.join(directory, 'syslog-ng.jsonl');
  await writeFile(
    configFile,
    `
@version: 3.38
options { keep-hostname(yes); use-dns(no); log-msg-size(262144); stats-freq(0); flush-lines(1); };
source receivers {
  syslog(transport("udp") ip("127.0.0.1") port(${ports.udp}));
  syslog(transport("tcp") ip("127.0.0.1") port(${ports.tcp}));
  network(transport("tcp") ip("127.0.0.1") port(${ports.lf}) flags(syslog-protocol));
  syslog(transport("tls") ip("127.0.0.1") port(${ports.tls}) tls(
    cert-file("${server.certFile}") key-file("${server.keyFile}")
    ca-file("${client.certFile}") peer-verify(required-trusted)));
};
destination fields {
  file("${outputFile}" template("$(format-json text=\\"$MSG\\" event_id=\\"\${.SDATA.xiq@32473.event_id}\\" host=\\"$HOST\\" message_type=\\"$MSGID\\" priority=\\"$PRI\\")\\n"));
};
log { source(receivers); destination(fields); flags(flow-control); };
`,
  );
  const files = { f: configFile, R: path.join(directory, 'persist'), c: path.join(directory, 'control') };
  const args = ['-F', '--no-caps', '--stderr', '-p', path.join(directory, 'syslog-ng.pid')];
  for (const [option, file] of Object.entries(files)) args.push(`-${option}`, file);
  const { libraries, modules } = librariesOf(command);
  args.push(`--module-path=${modules}`);
  return runReceiver({ command, args, env: { LD_LIBRARY_PATH: libraries }, ports, outputFile });
}

/** The libraries are next to the program, even if its package is only unpacked and not installed. */
function librariesOf(command: string): { libraries: string; modules: string } {
  const libraries = path.resolve(path.dirname(command), '../lib/syslog-ng');
  const version = readdirSync(libraries).find((name) => /^\d+\.\d+$/.test(name));
  if (version === undefined) throw new Error(`${libraries} has no modules`);
  return { libraries, modules: path.join(libraries, version) };
}
