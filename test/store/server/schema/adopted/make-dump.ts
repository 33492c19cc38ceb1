/**
 * Makes `last-of-34.sql.gz`: a dump of a database of the last program before the baseline, which stored deliveries of all
 * families, quarantined, forwarded, sealed and erased. Needs the history of the repository and Debian's Postgres:
 * `node test/store/server/schema/adopted/make-dump.ts`
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { debianProgram, startDebianPostgres } from '../../../../support/debian-postgres.ts';
import { SECRET, startProgramAt } from '../../../../support/program.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from '../../../../support/roles.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { LAST_COMMIT } from '../../../../../src/store/server/schema/adopt.ts';

const NOW = Date.parse('2026-11-25T08:00:00Z');

const audit = (code: number, userName = 'admin@example.com') => ({
  timeStamp: NOW - code * 1_000,
  id: `audit-${code}`,
  code: 10_000 + code,
  category: 1,
  description: `User ${userName} logged in`,
  userName,
  hostNames: ['ap-lobby'],
  deviceIds: [17, 18],
});
const logged = { timeStamp: NOW, id: 'log-1', username: 'jane@example.com', clientMac: '00AABBCCDDEE' };

/** Bodies by message type. */
const DELIVERIES: readonly (readonly [string, unknown])[] = [
  ['AUDIT_LOG_ALL', Array.from({ length: 600 }, (_, code) => audit(code))],
  // The cloud sends a delivery again, and records that cannot be read.
  ['AUDIT_LOG_ALL', [audit(1), audit(2)]],
  ['AUDIT_LOG_ALL', [audit(700, 'erase.me@example.com'), 'no record', 17]],
  ['LOCATION_AP_CENTRIC', [{ apMac: '001122334455', timeStamp: NOW, clientMac: '00AABBCCDDEE', rssi: -60 }]],
  [
    'LOCATION_CLIENT_CENTRIC',
    { clientMac: '00AABBCCDDEE', timeStamp: NOW, locationIdHierarchy: [1, 2, 3], ipv4: '192.0.2.7' },
  ],
  ['GDPR_LOG_ALL', [{ ...logged, status: 'SUCCESS' }]],
  ['CREDENTIAL_LOG_ALL', [logged]],
  ['ACCOUNTING_LOG_ALL', [{ ...logged, acctSessionId: 'session', acctInputOctets: 7 }]],
  ['AUTHENTICATION_LOG_ALL', [{ ...logged, authType: 'PEAP', reply: 'Access-Accept' }]],
  ['EMAIL_LOG_ALL', [{ ...logged, status: 'DELIVERED' }]],
  ['SMS_LOG_ALL', [{ ...logged, tel: '+15550100', status: 'SENT' }]],
  ['ALERT', [{ timestamp: NOW, summary: 'Access point offline' }]],
  ['NEWER_TYPE', [{ timeStamp: NOW, is: 'unknown' }]],
];

/** Rows of the tables that only a cloud or a person fills. */
const FILL = `
  insert into coverage values ('default', 'AUDIT_LOG_ALL', '2026-11-25 07:45Z', 'healed', 1, 5, 0, now(), null);
  insert into gaps (source, message_type, began_at, ended_at, reason)
    values ('default', 'AUDIT_LOG_ALL', '2026-11-24 07:00Z', '2026-11-24 08:00Z', 'downtime');
  insert into history_leases values ('default', gen_random_uuid(), now());
  insert into history_progress values ('default', 'AUDIT_LOG_ALL', now());
  insert into history_records values ('default', 'SMS_LOG_ALL', '1', now(), gen_random_uuid(), now(), 'SENT', now(), null);
  insert into superseded_events values (gen_random_uuid(), now(), 'AUDIT_LOG_ALL', 'default', gen_random_uuid());
  insert into subscriptions (subscription_id, source, message_type, url, application, status)
    values (7, 'default', 'AUDIT_LOG_ALL', 'https://sink.example.com', 'xiq-sink', 'ENABLED');
  insert into sources (name, definition) values ('branch', '{"secrets": [{"env": "BRANCH_SECRET"}]}');
  insert into devices (source, device_id, mac, host_name, location_id, valid_from) values ('default', 17, '001122334455', 'ap-lobby', 3, now());
  insert into locations (source, location_id, name, place, valid_from) values ('default', 3, 'Lobby', 'Lobby', now());
  insert into people (source, person_id, user_name, name, valid_from) values ('default', 5, 'admin@example.com', 'Ada', now());
  insert into saved_searches (name, line, saved_by) values ('logins', 'kind:login', 'ada');
  insert into report_schedules (name, every, time_zone, next_since) values ('weekly', 'week', 'UTC', now());
  insert into reports_sent values ('weekly', now(), now(), 'logins', 'siem', 3, now());
  insert into rejected_events (destination, event_id, occurred_at, message_type, reason)
    values ('siem', gen_random_uuid(), now(), 'AUDIT_LOG_ALL', 'too long');
  insert into alerts (rule, title, severity, source, grouped_by, event_count, first_at, last_at, causes)
    values ('many-logins', 'Many logins', 'low', 'default', '{}', 3, now(), now(), '[]');
  insert into rule_states values ('many-logins', 'fingerprint', 'key', '{}');
  insert into log_anchors (anchor, tried_at) values ('witness', now());`;

const repository = path.resolve(import.meta.dirname, '../../../../..');
const home = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-dump-'));
const checkout = path.join(home, 'checkout');
mkdirSync(checkout);
execFileSync('tar', ['-x', '-C', checkout], {
  input: execFileSync('git', ['archive', LAST_COMMIT], { cwd: repository, maxBuffer: 1 << 30 }),
});
symlinkSync(path.join(repository, 'node_modules'), path.join(checkout, 'node_modules'));
const program = path.join(checkout, 'bin/xiq-sink');

const postgres = await startDebianPostgres();
const settings = {
  DATABASE_URL: withRole(postgres.url, SERVICE_ROLE),
  READER_DATABASE_URL: withRole(postgres.url, READER_ROLE),
  DATA_DIR: path.join(home, 'data'),
  WEBHOOK_SECRET: SECRET,
  OTHER_MESSAGE_TYPES: 'store',
  FORWARD_TO: `file://${path.join(home, 'forwarded.jsonl')}`,
};
const command = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  execFileSync(program, args, { env: { PATH: process.env['PATH'], ...settings, ...more } });
command(['migrate'], { BOOTSTRAP_DATABASE_URL: postgres.url });
const admin = new Client({ connectionString: postgres.url });
await admin.connect();
const holds = async (condition: string) => (await admin.query(`select where ${condition}`)).rowCount === 1;

const service = await startProgramAt(program, settings);
for (const [messageType, body] of DELIVERIES) {
  await fetch(`${service.url}/ingest/default/${messageType}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify(body),
  });
}
await fetch(`${service.url}/ingest/default/AUDIT_LOG_ALL`, {
  method: 'POST',
  headers: { authorization: `Bearer ${SECRET}` },
  body: '[{"cut": "of',
});
await admin.query(FILL);
command(['access', 'add', 'ada', '--role', 'auditor', '--no-password']);
const areSealed = `(select count(*) from deliveries) = ${DELIVERIES.length + 1}
  and (select next_position from log_state) = (select next_position from log_seal_state)
  and (select count(*) from events) = (select next_position - first_position from log_state)
  and not exists (select from log_queue) and not exists (select from log_delivery_queue)
  and exists (select from seen) and exists (select from log_verifications)`;
await waitFor(() => holds(areSealed), 60_000);
const forget = ['--user', 'erase.me@example.com', '--reason', 'request 17', '--yes'];
command(['erase', ...forget]);
await waitFor(
  () => holds(`not exists (select from log_queue) and not exists (select from log_delivery_queue)`),
  60_000,
);
await service.end('SIGTERM');
process.stdout.write(command(['verify']));
await admin.end();

const dump = execFileSync(
  debianProgram('pg_dump'),
  ['--inserts', '--rows-per-insert=100', '-n', 'public', postgres.url],
  {
    maxBuffer: 1 << 30,
  },
);
await postgres.stop();
rmSync(home, { recursive: true });
// What only psql understands.
const statements = dump.toString().replaceAll(/^\\(un)?restrict .*$/gm, '');
writeFileSync(path.join(import.meta.dirname, 'last-of-34.sql.gz'), gzipSync(statements, { level: 9 }));
