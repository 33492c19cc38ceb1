import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
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
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { serve } from '../ingest/serve.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { countAll } from '../support/arrivals.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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

let test: TestDatabase & { readonly service: Db };
let log: SealedLog;
let trust: Trust;
let anchor: readonly Checkpoint[];

beforeEach(async () => {
  const made = await createTestDatabase();
  test = { ...made, service: openDatabase(made.databaseUrl, () => undefined) };
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
afterEach(async () => {
  await test.service.destroy();
  await test.drop();
});

type Run = ReturnType<typeof sql>;
const as = (...statements: readonly Run[]) =>
  freely(test.db, async (trx) => {
    for (const statement of statements) await statement.execute(trx);
  });
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

/** What was tried, and what said so: the table that is printed at the end. */
const table: string[] = [];
afterAll(() => void process.stdout.write(`\n${table.join('\n')}\n`));

interface Case {
  readonly what: string;
  readonly change: () => Promise<unknown>;
  /** What `verify` says first, as its beginning. */
  readonly says: string;
}

const CASES: readonly Case[] = [
  {
    what: 'a column',
    change: () => as(sql`update audit_events set user_name = 'x' where ${one}`),
    says: 'ALTERED event',
  },
  {
    what: 'the payload',
    change: () => as(sql`update audit_events set payload = payload || '{"x":1}' where ${one}`),
    says: 'ALTERED event',
  },
  {
    what: 'two payloads swapped',
    change: () =>
      as(sql`update audit_events set payload = (select payload from audit_events as other where other.code = 15 - audit_events.code)
        where code in (7, 8)`),
    says: 'ALTERED event',
  },
  {
    what: 'a row deleted',
    change: () => as(sql`delete from audit_events where ${one}`),
    says: 'MISSING event',
  },
  {
    what: 'a row inserted, with counts that fit',
    change: () =>
      as(
        sql`insert into audit_events (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
          select gen_random_uuid(), delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid from audit_events where ${one}`,
        sql`update deliveries set event_count = event_count + 1, expected_count = expected_count + 1 where record_count > 1`,
      ),
    says: 'INSERTED event',
  },
  {
    what: 'a row inserted into another table, with the id of an event',
    change: () =>
      as(sql`insert into log_entries (event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload, id, xid)
        select event_id, delivery_id, occurred_at, received_at, source, 'SMS_LOG_ALL', origin, payload, id, xid from audit_events where ${one}`),
    says: 'INSERTED event',
  },
  {
    what: 'a whole delivery',
    change: () => as(sql`delete from deliveries where record_count > 1`),
    says: 'MISSING delivery',
  },
  {
    what: 'a whole delivery with its events',
    change: () => as(sql`delete from deliveries where record_count > 1`, sql`delete from audit_events`),
    says: 'MISSING event',
  },
  {
    what: 'counters that add up',
    change: () =>
      as(
        sql`update deliveries set expected_count = expected_count + 1, duplicate_count = duplicate_count + 1 where record_count > 1`,
      ),
    says: 'ALTERED delivery',
  },
  {
    what: 'quarantined bytes',
    change: () => as(sql`update quarantine set content = 'other bytes'`),
    says: 'ALTERED quarantined item',
  },
  {
    what: 'the operator log',
    change: () => as(sql`update operator_log set operator = 'joe'`),
    says: 'ALTERED operation',
  },
  {
    what: 'an entry of the operator log deleted',
    change: () => as(sql`delete from operator_log`),
    says: 'MISSING operation',
  },
  {
    what: 'a quarter of an hour that was proven',
    change: () => as(sql`update coverage set matched = 7 where quarter = ${COVERED.from}`),
    says: 'ALTERED quarter',
  },
  {
    what: 'a quarter of an hour deleted',
    change: () => as(sql`delete from coverage where quarter = ${COVERED.from}`),
    says: 'MISSING quarter',
  },
  {
    what: 'quarters of an hour inserted',
    change: () =>
      as(sql`insert into coverage (source, message_type, quarter, state, healed, matched, only_webhook, compared_at)
        select 'default', 'AUDIT_LOG_ALL', ${COVERED.from}::timestamptz - number * interval '15 minutes', 'whole', 0, 0, 0, now()
        from generate_series(1, 2209) as number`),
    says: 'INSERTED quarter',
  },
  {
    what: 'a tile of the tree',
    change: () =>
      as(sql`update log_hashes set hashes = overlay(hashes placing '\\x00'::bytea from 5) where level = 1`),
    says: 'ALTERED leaves',
  },
  {
    what: 'a leaf',
    change: () =>
      as(
        sql`update log_hashes set hashes = overlay(hashes placing '\\x00'::bytea from 40) where level = 0 and number = 0`,
      ),
    says: 'ALTERED ',
  },
  {
    what: 'a row with its leaf and its salt forgotten',
    change: () => as(sql`update log_salts set salts[8] = null where number = 0`),
    says: 'ALTERED ',
  },
  {
    what: 'the checkpoints cut',
    change: () => as(sql`delete from log_checkpoints`),
    says: 'MISSING checkpoint',
  },
  {
    what: 'all made anew, signed with a foreign key',
    change: () => makeAnew(parseLogKey(generateLogKey(log.key.name))),
    says: 'ALTERED seen checkpoint',
  },
  {
    what: 'all made anew, signed with the own key, where the checkpoint was seen',
    change: () => makeAnew(log.key),
    says: 'ALTERED seen checkpoint',
  },
  {
    what: 'the tail cut off',
    change: () =>
      as(
        sql`update log_seal_state set size = 256`,
        sql`delete from log_hashes where level = 0 and number > 0`,
        sql`delete from log_checkpoints`,
      ),
    says: 'MISSING ',
  },
  {
    what: 'a faked erasure',
    change: () =>
      as(
        sql`delete from audit_events where ${one}`,
        sql`update log_salts set salts = array(select case when place <= 256 then null::bytea end from generate_series(1, 256) as place)
          where number = 0`,
        sql`insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
          values ('joe', 'none', 1, 0, 0, int8multirange(int8range(0, 256)), '{}')`,
      ),
    says: 'MISSING event',
  },
  {
    what: 'faked retention of events',
    change: () =>
      as(
        sql`delete from audit_events where ${one}`,
        sql`insert into gaps (message_type, began_at, ended_at, reason)
          values ('AUDIT_LOG_ALL', '2020-01-01', '2099-01-01', 'retention')`,
      ),
    says: 'MISSING event',
  },
  {
    what: 'faked retention of deliveries',
    change: () =>
      as(
        sql`delete from deliveries where record_count > 1`,
        sql`insert into operator_log (operator, via, action, subject, outcome, began_at, ended_at)
          values ('xiq-sink', 'system', 'retention.drop', 'deliveries_before_2099_01', 'done', now(), now())`,
      ),
    says: 'MISSING delivery',
  },
  {
    what: 'a view',
    change: () =>
      as(
        sql.raw(`create or replace view sms_log as select id, event_id, delivery_id, source, message_type, occurred_at, received_at,
        owner_id, org_id, origin, record_id, username, user_id, customer_id, tel, profile_name, status, message_id,
        status_from_provider, provider_type, payload from log_entries where false`),
      ),
    says: 'ALTERED schema',
  },
  {
    what: 'a function',
    change: () =>
      as(
        sql.raw(`create or replace function is_superseded(id uuid) returns boolean language plpgsql stable strict parallel safe cost 1
        as $$ begin return true; end $$`),
      ),
    says: 'ALTERED schema',
  },
  {
    what: 'row-level security',
    change: () => as(sql`alter table operator_log enable row level security`),
    says: 'ALTERED schema',
  },
  {
    what: 'the search path of a role',
    change: async () => {
      const database = new URL(test.databaseUrl).pathname.slice(1);
      await as(
        sql`alter role xiq_reader in database ${sql.id(database)} set search_path = elsewhere, public`,
      );
    },
    says: 'ALTERED schema',
  },
  {
    what: 'a trigger that drops what arrives',
    change: () =>
      as(
        sql.raw(`create function swallow() returns trigger language plpgsql as $$ begin return null; end $$`),
        sql`create trigger swallow before insert on audit_events for each row execute function swallow()`,
      ),
    says: 'ALTERED schema',
  },
  {
    what: 'a trigger that rewrites what arrives',
    change: () =>
      as(
        sql.raw(
          `create function rewrite() returns trigger language plpgsql as $$ begin new.user_name := 'x'; return new; end $$`,
        ),
        sql`create trigger rewrite before insert on audit_events for each row execute function rewrite()`,
      ),
    says: 'ALTERED schema',
  },
  {
    what: 'a guard switched off',
    change: () => as(sql`alter table quarantine disable trigger refuse_change`),
    says: 'ALTERED schema',
  },
];

describe('verify names', () => {
  it.each(CASES)('$what', async ({ what, change, says }) => {
    await change();
    const { findings, summary } = await log.verify({ trust });
    const lines = findings.map(({ state, subject, detail }) => `${state} ${subject}: ${detail}`);
    expect(isProven(summary)).toBe(false);
    const said = lines.find((line) => line.startsWith(says));
    expect(lines).toContainEqual(said);
    expect(said).toBeDefined();
    table.push(`${what} | verify | ${said}`);
  });
});

/** What whoever has the service's password may try, and nobody but the owner of the tables may do. */
const REFUSED: readonly (readonly [what: string, statement: string])[] = [
  ['a column', "update audit_events set user_name = 'x' where code = 7"],
  ['a column, in the partition', "update audit_events_default set user_name = 'x'"],
  ['a row deleted', 'delete from audit_events where code = 7'],
  ['a delivery deleted', 'delete from deliveries'],
  ['the owner', 'set role xiq_owner'],
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
  it.each(REFUSED)('refuses %s', async (what, statement) => {
    const refusal = await sql
      .raw(statement)
      .execute(test.service)
      .then(() => 'accepted', String);
    expect(refusal).toMatch(/permission denied|must be (owner|member)|is refused|do not wait/);
    table.push(`${what}, by the service's login | Postgres | ${refusal}`);
  });
});

describe('verify finds nothing wrong, and what it cannot know is said elsewhere', () => {
  it('nothing was changed', async () => {
    const { findings, summary } = await log.verify({ trust });
    expect(findings).toEqual([]);
    expect(isProven(summary)).toBe(true);
    expect(summary.sealedLate.count).toBe(0);
    table.push('nothing | verify | no finding');
  });

  it('all made anew with the own key, on a machine that has seen nothing: only an anchor tells', async () => {
    await makeAnew(log.key);
    expect((await log.verify()).findings).toEqual([]);
    const { findings } = await log.verify({ anchors: anchor });
    expect(findings).toMatchObject([{ state: 'ALTERED', subject: 'anchor' }]);
    table.push('all made anew with the own key, nothing seen | verify --against | ALTERED anchor');
  });

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
    await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 999 })]));
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
    table.push('all made anew with the own key | verify | the witness has signed 0 leaves');
    table.push('all made anew with the own key | verify --against (the witness) | ALTERED anchor');
    table.push(
      'all made anew with the own key | doctor of the witness | neither of two trees that it signed contains the other',
    );
  });

  it('a trigger that rewrote what arrived and is gone: verify --full reads the columns again', async () => {
    await as(
      sql.raw(
        `create function rewrite() returns trigger language plpgsql as $$ begin new.user_name := 'x'; return new; end $$`,
      ),
      sql`create trigger rewrite before insert on audit_events for each row execute function rewrite()`,
    );
    await storeDeliveries(
      test.service,
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 999, userName: 'eve' })]),
    );
    await log.seal();
    await as(sql`drop function rewrite cascade`);
    expect((await log.verify({ trust })).findings).toEqual([]);
    const { findings } = await log.verify({ trust, isFull: true });
    expect(findings).toMatchObject([{ state: 'ALTERED', subject: 'event' }]);
    expect(findings[0]?.detail).toContain('contradicts user_name');
    table.push(`a trigger that rewrote and is gone | verify --full | ALTERED event: ${findings[0]?.detail}`);
  });

  it('a roll-back to an older state: the machine that has seen more, or an anchor, tells', async () => {
    await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 999 })]));
    const later = parseCheckpoints((await log.seal()).note);
    await as(
      sql`delete from audit_events where code = 999`,
      sql`delete from deliveries where record_count = 1 and event_count = 1`,
      sql`delete from log_checkpoints where size > ${anchor[0]?.size}`,
    );
    const { findings } = await log.verify({ anchors: later });
    expect(findings.map(({ state }) => state)).toContain('MISSING');
    table.push(`a roll-back | verify --against | ${findings[0]?.state} ${findings[0]?.subject}`);
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
    table.push('a backdated row | verify | 1 event had no seal for more than a day after arrival');
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
    table.push('a quarter of before, inserted with its triggers on | certificate | 1 not sealed in time');
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
    table.push('rows of anchors | certificate | says that the service recorded them');
  });
});
