import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { putCheckpoint, witnessAnchor } from '../../src/seal/anchors.ts';
import { parseCheckpoints, type Checkpoint } from '../../src/seal/checkpoint.ts';
import { parseWitness } from '../../src/seal/cosignature.ts';
import { createSealer } from '../../src/seal/sealer.ts';
import { keepSeen } from '../../src/seal/seen-checkpoint.ts';
import { generateLogKey, parseLogKey, type LogKey } from '../../src/seal/signed-note.ts';
import { readTrust, seenFileOf, type Trust } from '../../src/seal/trust.ts';
import { createWitness } from '../../src/seal/witness.ts';
import { isProven } from '../../src/seal/verify/verify-log.ts';
import { recordCoverage } from '../../src/reconcile/coverage.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { monthRange } from '../../src/lib/text/parse-time.ts';
import { certificateContent } from '../../src/console/certificate/certificate-page.ts';
import { renderDocument, html } from '../../src/console/html/html.ts';
import { readCertificate } from '../../src/store/seal/certificate.ts';
import { readForks } from '../../src/store/seal/witnessed-logs.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { serve } from '../ingest/serve.ts';
import { storeAudits, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { countAll } from '../support/arrivals.ts';
import { createTestDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { freely } from '../support/tamper.ts';
import { untilSeen } from '../support/until-seen.ts';
import { knowing, NO_ANCHORS } from '../support/trust.ts';

/** Enough for a full tile of leaves. */
const EVENTS = 300;
const MONTH = new Date().toISOString().slice(0, 'YYYY-MM'.length);
const HOUR = 3_600_000;
/** 8 quarters of an hour, which are proven since. */
const COVERED = {
  from: new Date(Math.floor(Date.now() / HOUR) * HOUR - 12 * HOUR),
  to: new Date(Math.floor(Date.now() / HOUR) * HOUR - 10 * HOUR),
};

const test = useDatabase({ forEach: true });
let log: SealedLog;
let trust: Trust;
let anchor: readonly Checkpoint[];

beforeEach(async () => {
  log = await openSealedLog(test.service);
  const records = Array.from({ length: EVENTS }, (_, code) =>
    auditRecord({ code, userName: `user ${code}` }),
  );
  await storeDeliveries(
    test.service,
    queuedDelivery('AUDIT_LOG_ALL', records),
    unreadableDelivery('bytes that came'),
  );
  const operator = { name: 'jane', via: 'command' } as const;
  await recordEnded(test.service, { operator, action: 'settings.reload', subject: 'all' });
  for (const hours of [7, 0]) {
    const at = new Date(Date.now() - hours * HOUR);
    await recordCoverage(test.service)('default', 'AUDIT_LOG_ALL', [], { ...COVERED, at });
  }
  await countAll(test.service);
  anchor = parseCheckpoints((await log.seal()).note);
  await keepSeen(test.service, seenFileOf(log.directory), knowing(log.key));
  trust = await readTrust({ dataDir: log.directory, logKeyFile: undefined, ...NO_ANCHORS });
});

type Run = ReturnType<typeof sql>;
const as = (...statements: readonly Run[]) => freely(test.db, ...statements);
const one = sql`code = 7`;

/** Makes the whole tree anew over the rows as they are now, and signs it with a key. */
async function makeAnew(key: LogKey): Promise<void> {
  await as(
    sql`update audit_events set user_name = 'nobody' where ${one}`,
    sql`truncate log_checkpoints, log_hashes, log_salts, log_seals`,
    sql`update log_seal_state set size = 0, first_position = 0, next_position = 0`,
    sql`insert into log_queue (kind, key) select kind, key from log_statements where kind not in ('deliveries', 'quarters')`,
    sql`insert into log_queue (kind, key) select 'quarter', json_build_array(source, message_type, extract(epoch from quarter)::bigint)
      from coverage`,
    sql`insert into log_delivery_queue (delivery_ids, received_at)
      select array_agg(delivery_id order by delivery_id), array_agg(received_at order by delivery_id) from deliveries`,
    sql`truncate log_statements`,
  );
  const sealer = createSealer(test.db, key, async () => knowing(key));
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
}

/** What is done, what `verify` says first, as its beginning, and how it is done. */
type Case = [what: string, says: string, ...changes: Run[]];

/** What tests of the default suite do not have (test/seal/, test/store/server/schema/compare-schema.test.ts). */
const CASES: readonly Case[] = [
  [
    'a row inserted, with counts that fit',
    'INSERTED event',
    sql`insert into audit_events (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
      select gen_random_uuid(), delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid from audit_events where ${one}`,
    sql`update deliveries set event_count = event_count + 1, expected_count = expected_count + 1 where record_count > 1`,
  ],
  [
    'a row inserted into another table, with the id of an event',
    'INSERTED event',
    sql`insert into log_entries (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
      select event_id, delivery_id, occurred_at, received_at, source, 'SMS_LOG_ALL', origin, payload, id, xid from audit_events where ${one}`,
  ],
  [
    'a whole delivery with its events',
    'MISSING event',
    sql`delete from deliveries where record_count > 1`,
    sql`delete from audit_events`,
  ],
  [
    'more leaves claimed than could ever be looked for',
    'MISSING leaves',
    sql`update log_seal_state set size = 9000000000000000`,
  ],
  [
    'a quarter of an hour deleted',
    'MISSING quarter',
    sql`delete from coverage where quarter = ${COVERED.from}`,
  ],
  [
    'quarters of an hour inserted',
    'INSERTED quarter',
    sql`insert into coverage (source, message_type, quarter, state, healed, matched, only_webhook, compared_at)
      select 'default', 'AUDIT_LOG_ALL', ${COVERED.from}::timestamptz - number * interval '15 minutes', 'whole', 0, 0, 0, now()
      from generate_series(1, 2209) as number`,
  ],
  [
    'a tile of the tree',
    'ALTERED leaves',
    sql`update log_hashes set hashes = overlay(hashes placing '\\x00'::bytea from 5) where level = 1`,
  ],
  [
    'a row with its leaf and its salt forgotten',
    'ALTERED ',
    sql`update log_salts set salts[8] = null where number = 0`,
  ],
  [
    'a faked erasure',
    'MISSING event',
    sql`delete from audit_events where ${one}`,
    sql`update log_salts set salts = array(select case when place <= 256 then null::bytea end from generate_series(1, 256) as place)
      where number = 0`,
    sql`insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
      values ('joe', 'none', 1, 0, 0, int8multirange(int8range(0, 256)), '{}')`,
  ],
  [
    'an event whose entry is behind the end of the log',
    'INSERTED event',
    sql`insert into audit_events (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
      select '11111111-1111-8111-8111-111111111111', delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid
      from audit_events where ${one}`,
    sql`insert into log_tiles (first, kinds, occurred_at, event_ids, received_from, received_to)
      select 1000000, array[kind], array[occurred_at], array[event_id], received_at, received_at
      from audit_events join log_kinds using (source, message_type) where event_id = '11111111-1111-8111-8111-111111111111'`,
  ],
  [
    'another source of entries, which hides events from who verifies that source',
    'INSERTED event',
    sql`update log_kinds set source = 'elsewhere' where message_type = 'AUDIT_LOG_ALL'`,
  ],
  [
    'another time of arrival of entries, which hides events from who verifies a time',
    'INSERTED event',
    sql`update log_tiles set received_from = '2000-01-01', received_to = '2000-01-01'`,
  ],
  [
    'an entry of the operator log with a statement in no tree',
    'INSERTED operation',
    sql`insert into operator_log (id, began_at, operator, via, action, details, outcome, ended_at) overriding system value
      values (-5, '2026-01-01', 'ann', 'console', 'access.add', '{}', 'done', '2026-01-01')`,
    sql`insert into log_statements (leaf, kind, key, record) select -5, 'operation', id, json_build_array('operation'::text, 1::int,
      id, began_at, operator, via, action, subject, details, outcome, ended_at, result)::text from operator_log where id = -5`,
  ],
  [
    'an entry of the operator log that seems to wait for its seal',
    'ALTERED operation',
    sql`update operator_log set operator = 'joe'`,
    sql`insert into log_queue (kind, key) select 'operation', id from operator_log`,
  ],
  [
    'the time of a checkpoint, by which events were sealed late',
    'ALTERED checkpoint',
    sql`update log_checkpoints set made_at = made_at - interval '400 days'`,
  ],
  [
    'a month of retention that is a millisecond',
    'MISSING event',
    sql`insert into gaps (message_type, began_at, ended_at, reason, detail) select 'AUDIT_LOG_ALL', occurred_at,
      occurred_at + interval '1 ms', 'retention', '{}' from audit_events where ${one}`,
    sql`insert into log_queue (kind, key) select 'gap', id from gaps`,
    sql`delete from audit_events where occurred_at = (select began_at from gaps)`,
  ],
  [
    'a month of retention that ended before its events arrived',
    'MISSING event',
    sql`delete from audit_events where ${one}`,
    sql`insert into gaps (message_type, began_at, ended_at, reason, detail, recorded_at) select distinct 'AUDIT_LOG_ALL',
      date_trunc('month', occurred_at), date_trunc('month', occurred_at) + interval '1 month', 'retention', '{}'::jsonb,
      now() - interval '2 days' from audit_events`,
    sql`insert into log_queue (kind, key) select 'gap', id from gaps`,
  ],
  ['a guard switched off', 'ALTERED schema', sql`alter table quarantine disable trigger refuse_change`],
];

it.each(CASES)('verify names %s: %s', async (_what, says, ...changes) => {
  await as(...changes);
  const { findings, summary } = await log.verify({ trust });
  const lines = findings.map(({ state, subject }) => `${state} ${subject}`);
  expect(isProven(summary)).toBe(false);
  expect(lines).toContainEqual(expect.stringMatching(`^${says}`));
});

it('verify of one source names deliveries that were moved to another one with their events', async () => {
  await as(
    sql`update log_kinds set source = 'elsewhere'`,
    sql`update deliveries set source = 'elsewhere'`,
    sql`update audit_events set source = 'elsewhere'`,
  );
  const { findings } = await log.verify({ trust, source: 'default' });
  expect(findings).toContainEqual(expect.objectContaining({ state: 'ALTERED', subject: 'delivery' }));
});

/** What whoever has the service's password may try, and nobody but the owner of the tables may do. */
const REFUSED: readonly (readonly [what: string, statement: string])[] = [
  ['a column', "update audit_events set user_name = 'x' where code = 7"],
  ['a column, in the partition', "update audit_events_default set user_name = 'x'"],
  ['a row deleted', 'delete from audit_events where code = 7'],
  ['a delivery deleted', 'delete from deliveries'],
  ['the owner', 'set role xiq_owner'],
  ['a superuser', 'set role postgres'],
  ['a superuser, by itself', 'alter role xiq_sink superuser'],
  ['a program', "copy (select 1) to program 'id'"],
  ['a guard dropped', 'drop trigger refuse_change on audit_events'],
  [
    'a guard replaced',
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return old; end $$',
  ],
  ['the owner, by grant', 'grant xiq_owner to xiq_sink'],
  ['leaves forged', 'update log_hashes set hashes = sha256(hashes) where level = 0'],
  ['leaves cut', 'delete from log_hashes'],
  ['leaves cut by size', 'update log_seal_state set size = size - 1'],
  ['leaves of other rows', 'update log_seals set first_position = first_position + 1'],
  ['salts', 'update log_salts set salts = array[sha256(salts[1])] || salts[2:]'],
  ['salts erased', 'update log_salts set salts = array_fill(null::bytea, array[cardinality(salts)])'],
  ['checkpoints cut', 'delete from log_checkpoints'],
  ['checkpoints signed anew', "update log_checkpoints set note = replace(note, 'xiq', 'XIQ')"],
  ['another key', "update log_checkpoints set public_key = 'mine'"],
  ['statements', "update log_statements set record = '[]'"],
  ['all of them', 'truncate log_hashes'],
  ['a guard switched off', 'alter table audit_events disable trigger refuse_change'],
  ['a guard of the seal switched off', 'alter table log_hashes disable trigger only_grows'],
  ['guards passed over', 'set session_replication_role = replica'],
  ['a view', 'create or replace view events as select 1 as one'],
  [
    'a function',
    "create or replace function is_in(parent text, month date) returns text language sql as 'select 1::text'",
  ],
  [
    'a trigger',
    'create trigger mine before insert on audit_events for each row execute function only_grows()',
  ],
  ['row-level security', 'alter table operator_log enable row level security'],
  ['a month dropped', `select detach_month('audit_events', 'audit_events_${MONTH.replace('-', '_')}')`],
  ['a month dropped, directly', `drop table audit_events_${MONTH.replace('-', '_')}`],
  ['rows lost by a copy', `select copy_default('audit_events', '${MONTH}-01')`],
];

describe("with the service's login alone, Postgres", () => {
  it.each(REFUSED)('refuses %s', async (_what, statement) => {
    await expect(sql.raw(statement).execute(test.service)).rejects.toThrow(
      /permission denied|must be (owner|member)|is refused|do not wait/,
    );
  });
});

describe('verify finds nothing wrong, and what it cannot know is said elsewhere', () => {
  it('all made anew with the own key, where a witness has signed: its own copy tells, and it signs no more', async () => {
    const elsewhere = await createTestDatabase();
    onTestFinished(() => elsewhere.drop());
    const key = parseLogKey(generateLogKey('xiq-sink/witness'));
    const witness = createWitness(elsewhere.db, knowing(log.key).keys, async () => key);
    const { port } = await serve({ witness });
    const known = parseWitness(key.publicText, `http://127.0.0.1:${port}`);
    const put = async () => {
      const failures: string[] = [];
      await putCheckpoint(test.service, [witnessAnchor(test.service, known)], (_, error) =>
        failures.push(String(error)),
      );
      return failures;
    };
    const machine = { ...knowing(log.key), witnesses: [known] };
    expect(await put()).toEqual([]);
    const { name } = known;
    const signed = { name, size: anchor[0]?.size, time: expect.any(Date) as unknown };
    expect((await log.verify({ trust: machine })).summary.witnessed).toEqual([signed]);
    await makeAnew(log.key);
    await as(sql`truncate log_anchors`);
    await storeAudits(test.service, { code: 999 });
    await log.seal();
    expect(await put()).toEqual([expect.stringContaining('the server answered 422')]);
    expect(await readForks(elsewhere.db, [log.key.publicText])).toHaveLength(1);
    const { findings, summary } = await log.verify({ trust: machine });
    expect(findings).toEqual([]);
    expect(summary.witnessed).toEqual([{ name, size: 0 }]);
    const anchors = parseCheckpoints((await witness.latest(hash('sha256', log.key.name))) ?? '');
    expect((await log.verify({ trust: machine, anchors })).findings).toMatchObject([
      { state: 'ALTERED', subject: 'anchor' },
    ]);
  });

  it('an event that the log seems to expect of another server: after ten minutes, nothing is proven', async () => {
    await as(
      sql`update log_state set server = 'another'`,
      sql`insert into deliveries (delivery_id, source, message_type, received_at, stored_at, origin, body_bytes, record_count,
          expected_count, event_count, duplicate_count, quarantined_count, xid, era)
        select '11111111-1111-8111-8111-111111111111', source, message_type, received_at, now() - interval '11 minutes', origin, 1, 1,
          1, 1, 0, 0, '999999999999', era from deliveries limit 1`,
      sql`insert into audit_events (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
        select gen_random_uuid(), delivery_id, received_at, received_at, source, message_type, origin, '{}', 999999999, xid
        from deliveries where delivery_id = '11111111-1111-8111-8111-111111111111'`,
    );
    const { findings, summary } = await log.verify({ trust });
    expect(findings).toEqual([]);
    expect(summary).toMatchObject({ notSealedYet: 2 });
    expect(summary.doubts).toEqual([expect.stringContaining('No checkpoint contains the data stored since')]);
  });

  it('the sums that the service keeps: a certificate of compared rows has those of the deliveries', async () => {
    const month = monthRange(MONTH);
    if (month === undefined) throw new TypeError('no month');
    await sql`update arrivals set events = events + 1000, expected = expected + 1000`.execute(test.service);
    const { summary } = await log.verify({ trust });
    const stored = async (verification?: typeof summary) => {
      const { received, areSealed } = await readCertificate(test.service, ALL_SOURCES, month, verification);
      return [received.reduce((sum, { events }) => sum + events, 0), areSealed];
    };
    expect(await stored(summary)).toEqual([EVENTS, true]);
    expect(await stored()).toEqual([EVENTS + 1000, false]);
  });

  it('a backdated row: it is counted as sealed late', async () => {
    const receivedAt = Date.now() - 3 * 86_400_000;
    await storeDeliveries(
      test.service,
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 999, timeStamp: receivedAt })], { receivedAt }),
    );
    await untilSeen(test.service);
    await log.seal();
    const { summary } = await log.verify({ trust });
    expect(summary.sealedLate).toEqual({ count: 1, earliest: new Date(receivedAt) });
  });

  it('quarters of before, inserted with their triggers on: the certificate says that they were sealed late', async () => {
    const month = monthRange(COVERED.to.toISOString().slice(0, MONTH.length));
    if (month === undefined) throw new TypeError('no month');
    const proven = async () => {
      const { coverage, sealedQuarters } = await readCertificate(test.service, ALL_SOURCES, month);
      return [coverage.whole, sealedQuarters];
    };
    const [before = 0] = await proven();
    expect(await proven()).toEqual([before, before]);
    await sql`insert into coverage (source, message_type, quarter, state, healed, matched, only_webhook, compared_at)
      values ('default', 'AUDIT_LOG_ALL', ${COVERED.to}, 'whole', 0, 0, 0, now() - interval '2 days')`.execute(
      test.service,
    );
    await log.seal();
    expect((await log.verify({ trust })).findings).toEqual([]);
    expect(await proven()).toEqual([before + 1, before]);
  });

  it('rows of anchors: the certificate says that the service recorded them', async () => {
    const month = monthRange(MONTH);
    if (month === undefined) throw new TypeError('no month');
    await as(
      sql`insert into log_anchors (anchor, size, tried_at, anchored_at) values ('file', ${anchor[0]?.size}, now(), now())`,
    );
    const certificate = await readCertificate(test.service, ALL_SOURCES, month);
    const page = renderDocument(html`<div>${certificateContent(certificate)}</div>`);
    expect(page).toContain('External copies, as the service recorded them');
  });
});
