import path from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../../config.ts';
import { isLoopbackHost } from '../../loopback.ts';
import { sampleBody } from '../../serve/first-delivery.ts';
import type { Role } from '../../serve/roles.ts';
import type { Service } from '../../serve/start-service.ts';

/** What a person reads once the service takes deliveries: where it is, how to try it, how to ask it. */
export function welcome(
  { secrets, port, adminPort, readerUrl }: Service,
  config: Config,
  role: Role,
): string {
  const address = `${config.tls === undefined ? 'http' : 'https'}://localhost:${port}`;
  const admin = adminAddress(config, adminPort);
  if (secrets === undefined) {
    return `xiq-sink ${WORK[role]}; its health: ${address}/readyz, its ${role === 'console' ? 'console' : 'metrics'}: ${admin}`;
  }
  const source = secrets.sources[0]?.name ?? '';
  const { secretFile, generated } = secrets;
  const secret = secretFile === undefined ? '$WEBHOOK_SECRET' : `$(cat ${relative(secretFile)})`;
  const lines = [
    styleText('bold', `xiq-sink takes deliveries at ${address}/ingest/${source}/MESSAGE_TYPE`),
    ...(generated === undefined
      ? []
      : section(`Webhook secret, generated now, shown once, kept in ${secretFile}:`, generated)),
    ...section(
      'Try it:',
      `curl -H "Authorization: Bearer ${secret}" -d '${sampleBody(Date.now())}' ${address}/ingest/${source}/AUDIT_LOG_ALL`,
    ),
    ...(role === 'ingest' ? [] : section('Look at it:', admin)),
    ...section(
      'Ask it:',
      'bin/xiq-sink events search',
      'bin/xiq-sink sql "select user_name, code, count(*) from audit_log group by 1, 2"',
    ),
    ...(readerUrl === undefined
      ? []
      : section('With any Postgres client, read only:', `psql "${readerUrl}"`)),
    '',
    'Ctrl-C stops it; what was answered with 200 is kept.',
  ];
  return lines.join('\n');
}

/** What a process does that takes no deliveries. */
const WORK: Readonly<Record<Role, string>> = {
  all: 'takes deliveries',
  ingest: 'takes deliveries',
  worker: 'stores deliveries from the queue',
  forward: 'forwards events',
  console: 'shows what is stored',
};

function adminAddress({ admin, tls }: Config, port: number): string {
  if (isLoopbackHost(admin.host)) return `http://localhost:${port}`;
  return `${tls === undefined ? 'http' : 'https'}://${admin.host}:${port}`;
}

const section = (title: string, ...lines: string[]) => ['', title, ...lines.map((line) => `  ${line}`)];

/** A path as it is shortest to type from here. */
function relative(file: string): string {
  const fromHere = path.relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
