import path from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../../config.ts';
import { isLoopbackHost } from '../../loopback.ts';
import type { Role } from '../../serve/roles.ts';
import { sampleCommand, SECRET_PLACEHOLDER } from '../../serve/sample-delivery.ts';
import type { Service } from '../../serve/start-service.ts';

/** The screen of a service that has started: its addresses, a delivery to try, and how to query events. */
export function welcome(service: Service, config: Config, role: Role): string {
  const { sources, secrets, port, adminPort, psqlArgument } = service;
  const address = `${config.tls === undefined ? 'http' : 'https'}://localhost:${port}`;
  const admin = adminAddress(config, adminPort);
  if (secrets === undefined) {
    const page = role === 'console' ? 'console' : 'metrics';
    return `xiq-sink ${WORK[role]}. Health: ${address}/readyz, ${page}: ${admin}`;
  }
  const source = sources[0]?.name ?? '';
  const { secretFile, generated } = secrets;
  const sample = { baseUrl: address, source, secretFile: secretFile && relative(secretFile) };
  const lines = [
    styleText('bold', `xiq-sink accepts deliveries at ${address}/ingest/${source}/MESSAGE_TYPE`),
    ...(generated === undefined ? [] : generatedSecret(generated, secretFile ?? '')),
    ...section(
      secretFile === undefined
        ? `Try it (replace ${SECRET_PLACEHOLDER} with a webhook secret of this source):`
        : 'Try it:',
      sampleCommand(sample),
    ),
    ...(role === 'ingest' ? [] : section('Open the console:', admin)),
    ...section(
      'Query events:',
      'bin/xiq-sink events search',
      'bin/xiq-sink sql "select user_name, code, count(*) from audit_log group by 1, 2"',
    ),
    ...(psqlArgument === undefined
      ? []
      : section('With any Postgres client, read-only:', `psql "${psqlArgument}"`)),
    '',
    'Press Ctrl-C to stop. Every delivery answered with 200 is kept.',
  ];
  return lines.join('\n');
}

/** What a process of each role does. */
const WORK: Readonly<Record<Role, string>> = {
  all: 'accepts deliveries',
  ingest: 'accepts deliveries',
  worker: 'stores deliveries from the queue',
  forward: 'forwards events',
  console: 'serves the console',
};

function adminAddress({ admin, tls }: Config, port: number): string {
  if (isLoopbackHost(admin.host)) return `http://localhost:${port}`;
  return `${tls === undefined ? 'http' : 'https'}://${admin.host}:${port}`;
}

/** The secret itself on a terminal only: a pipe may lead to a log that others read and that is kept. */
const generatedSecret = (secret: string, file: string) =>
  process.stdout.isTTY
    ? section(`Webhook secret, generated now and shown once, kept in ${file}:`, secret)
    : section('Webhook secret, generated now, in the file:', file);

const section = (title: string, ...lines: string[]) => ['', title, ...lines.map((line) => `  ${line}`)];

/** The shorter of a path's two forms: absolute, or relative to the working directory. */
function relative(file: string): string {
  const fromHere = path.relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
