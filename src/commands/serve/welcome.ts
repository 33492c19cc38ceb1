import path from 'node:path';
import { styleText } from 'node:util';
import { commandName, quoteForShell } from '../../lib/text/command-name.ts';
import type { Config } from '../../config/config.ts';
import { isLoopbackHost } from '../../lib/loopback.ts';
import type { Role } from '../../config/roles.ts';
import { sampleCommand, SECRET_PLACEHOLDER } from '../../ingest/sample-delivery.ts';
import type { Service } from '../../serve/start-service.ts';

/**
 * The screen of a service that has started, for a terminal of 80 columns: its addresses, a delivery to try, and how to
 * query events.
 */
export function welcome(service: Service, config: Config, role: Role): string {
  const { sources, secrets, port, adminPort, psqlArgument } = service;
  const scheme = config.tls === undefined ? 'http' : 'https';
  const address = `${scheme}://${reachable(config.host)}:${port}`;
  const admin = adminAddress(config, adminPort);
  if (secrets === undefined) {
    const page = role === 'console' ? 'console' : 'metrics';
    return `xiq-sink ${WORK[role]}. Health: ${address}/readyz, ${page}: ${admin}`;
  }
  const { secretFile, generated } = secrets;
  const sample = {
    baseUrl: address,
    source: sources[0]?.name ?? '',
    secretFile: secretFile && relative(secretFile),
  };
  const command = commandIn(config.dataDir);
  const lines = [
    styleText('bold', `Listening on ${address}`),
    ...(generated === undefined
      ? []
      : section(`Webhook secret, shown once and kept in ${relative(secretFile ?? '')}:`, generated)),
    ...section(
      secretFile === undefined
        ? `Store a first event (replace ${SECRET_PLACEHOLDER} with one of this source's webhook secrets):`
        : 'Store a first event, in another terminal:',
      sampleCommand(sample),
    ),
    ...(role === 'ingest' ? [] : section('Open the console:', admin)),
    ...section(
      'Query events:',
      command('events search'),
      command('sql "select code, count(*) from audit_log group by 1"'),
    ),
    ...(psqlArgument === undefined
      ? []
      : section('With any Postgres client, read-only:', psqlCommand(psqlArgument))),
    '',
    'Press Ctrl-C to stop. Every delivery answered with 200 is kept.',
  ];
  return lines.join('\n');
}

const WORK: Readonly<Record<Role, string>> = {
  all: 'accepts deliveries',
  ingest: 'accepts deliveries',
  worker: 'stores deliveries from the queue',
  forward: 'forwards events',
  console: 'serves the console',
};

function adminAddress({ admin, tls }: Config, port: number): string {
  const scheme = tls === undefined || isLoopbackHost(admin.host) ? 'http' : 'https';
  return `${scheme}://${reachable(admin.host)}:${port}`;
}

/** A host of an address that can be opened on this machine, for the one that a listener is bound to. */
function reachable(host: string): string {
  if (ALL_ADDRESSES.has(host) || host === '127.0.0.1' || host === '::1') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

const ALL_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Makes commands that find the data directory: they name it if it is not the default. */
function commandIn(dataDir: string): (words: string) => string {
  const setting = dataDir === path.resolve('data') ? [] : [`DATA_DIR=${quoteForShell(dataDir)}`];
  return (words) => layOut([...setting, `${quoteForShell(commandName())} ${words}`]);
}

/** The argument for psql, which names the file of the password, as a command. */
function psqlCommand(argument: string): string {
  const url = new URL(argument);
  const file = url.searchParams.get('passfile') ?? '';
  url.search = '';
  return layOut([`PGPASSFILE=${quoteForShell(relative(file))}`, `psql ${url.href}`]);
}

/** Characters of a line after its indent. */
const WIDTH = 78;

/** A command on one line if it fits, else on several. */
function layOut(parts: readonly string[]): string {
  const line = parts.join(' ');
  return line.length <= WIDTH ? line : parts.join(' \\\n  ');
}

const section = (title: string, ...commands: string[]) => [
  '',
  title,
  ...commands.map((command) => command.replaceAll(/^/gm, '  ')),
];

/** The shorter of a path's two forms: absolute, or relative to the working directory. */
function relative(file: string): string {
  const fromHere = path.relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
