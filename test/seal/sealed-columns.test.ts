import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { FAMILIES, typesOfFamily, type Family } from '../../src/events/domain.ts';
import { TABLE_OF } from '../../src/events/message-types.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { compareDeliveries } from '../../src/store/seal/sealed-deliveries.ts';
import { readingSealed } from '../../src/store/seal/sealed-rows.ts';
import { SAMPLES } from '../handlers/samples.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { countAll } from '../support/arrivals.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { freely } from '../support/tamper.ts';
import { useDatabase } from '../support/use-database.ts';

/** Columns that belong to the server: a move to another one changes them. */
const UNSEALED = ['xid', 'era'];

/** The sealed tables, with the columns that a finding names a row by. */
const KEY_OF: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FAMILIES.map((family) => [TABLE_OF[family], 'event_id'])),
  deliveries: 'delivery_id',
  operator_log: 'id',
  quarantine: 'quarantine_id',
  gaps: 'id',
  erasures: 'id',
  archived_files: 'id',
  coverage: 'source',
};

/** Another value of a column, by its type. */
const OTHER_VALUE: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => `coalesce(${column}, '') || '1'`,
  bigint: (column) => `coalesce(${column}, 0) + 1000000`,
  integer: (column) => `coalesce(${column}, 0) + 1`,
  'double precision': (column) => `coalesce(${column}, 0) + 0.5`,
  boolean: (column) => `not coalesce(${column}, false)`,
  'timestamp with time zone': (column) => `coalesce(${column}, '2026-01-31') + interval '1 microsecond'`,
  uuid: () => 'gen_random_uuid()',
  jsonb: () => `'{"forged": null}'`,
  bytea: () => `'forged'`,
  inet: () => `'203.0.113.99'`,
  macaddr: () => `'02:00:00:00:00:99'`,
  'text[]': () => `'{forged}'`,
  'bigint[]': () => `'{99}'`,
  int8multirange: () => `'{[7,9)}'`,
};

/** Columns of which a check allows certain values only. */
const ALLOWED: Readonly<Record<string, string>> = {
  'operator_log.via': `via = 'api'`,
  'operator_log.outcome': `outcome = 'failed'`,
  'coverage.state': `state = 'healed', reason = null`,
  'coverage.reason': `reason = 'incomplete list'`,
  'coverage.quarter': `quarter = quarter + interval '1 day'`,
  'archived_files.removed_at': `removed_at = now(), removed_because = 'back in the table'`,
  'archived_files.removed_because': `removed_because = 'dropped by retention', removed_at = now()`,
  'gaps.reason': `reason = 'silence'`,
  'gaps.ended_at': `ended_at = began_at + interval '1 day'`,
  'quarantine.resolution': `resolution = 'replayed', replay_delivery_id = gen_random_uuid()`,
  'quarantine.replay_delivery_id': `replay_delivery_id = gen_random_uuid(), resolution = 'replayed'`,
  'quarantine.discarded_bytes': 'discarded_bytes = discarded_bytes + 1',
  'quarantine.content': `content = 'forged', discarded_bytes = null, resolution = 'replayed', replay_delivery_id = gen_random_uuid()`,
};

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

const test = useDatabase();
let log: SealedLog;
let columns: readonly Column[];

/** As many deliveries of each family as the widest table has columns, one event in each. */
const ROWS = 80;

beforeAll(async () => {
  log = await openSealedLog(test.service);
  await storeDeliveries(test.service, ...FAMILIES.flatMap(deliveriesOf));
  await storeDeliveries(test.service, ...rows((number) => unreadableDelivery(`body ${number}`)));
  for (const subject of rows((number) => `subject ${number}`)) {
    await recordEnded(test.service, {
      operator: { name: 'jane', via: 'console' },
      action: 'sql.query',
      subject,
    });
  }
  await sql`
    update quarantine set resolution = 'discarded', resolved_at = now(), discarded_bytes = octet_length(content), content = ''
  `.execute(test.service);
  await test.query`
    insert into gaps (source, message_type, began_at, ended_at, reason)
    select 'source ' || number, 'AUDIT_LOG_ALL', '2026-01-01', '2026-02-01', 'downtime' from generate_series(1, ${ROWS}::int) as number;
  `;
  await test.query`
    insert into coverage
    select 'proven ' || number, 'AUDIT_LOG_ALL', '2026-01-01Z', 'not comparable', 0, 0, 0, '2026-01-02', '2026-01-02', 'silent log'
    from generate_series(1, ${ROWS}::int) as number
  `;
  await test.query`
    insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
    select 'jane', 'reason ' || number, 0, 0, 0, '{}', '{}' from generate_series(1, ${ROWS}::int) as number
  `;
  await test.query`
    insert into archived_files (path, family_table, source, message_type, first_at, last_at, first_received_at, last_received_at,
      row_count, bytes, sha256, table_bytes)
    select 'file ' || number, 'audit_events', 'default', 'AUDIT_LOG_ALL', '2026-01-01', '2026-01-31', '2026-01-01', '2026-01-31',
      1, 100, 'hash', 1000 from generate_series(1, ${ROWS}::int) as number
  `;
  await countAll(test.service);
  await log.seal();
  const found = await test.query<Column>`
    select relname as table, attname as column, format_type(atttypid, atttypmod) as type
    from pg_attribute join pg_class on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relname = any(${Object.keys(KEY_OF)}) and attnum > 0
      and not attisdropped and attname <> all(${UNSEALED})
    order by 1, attnum`;
  columns = found;
});

function rows<T>(make: (number: number) => T): readonly T[] {
  return Array.from({ length: ROWS }, (_, number) => make(number));
}

function deliveriesOf(family: Family) {
  const samples = SAMPLES.filter(({ messageType }) => typesOfFamily(family).includes(messageType));
  return rows((number) => {
    const sample = samples[number % samples.length];
    if (sample === undefined) throw new Error(`there is no sample of ${family}`);
    const { messageType, record } = sample;
    const sent = messageType === 'OTHER' ? { sentType: 'NEW_LOG_ALL' } : {};
    return queuedDelivery(messageType, [{ ...record, number }], sent);
  });
}

/** Changes one column of a row that nothing else has changed. Returns the key that the row had. */
async function forge({ table, column, type }: Column, number: number): Promise<string> {
  const key = KEY_OF[table] ?? '';
  const value = OTHER_VALUE[type];
  if (value === undefined)
    throw new Error(`there is no other value of the type ${type} of ${table}.${column}`);
  const change = ALLOWED[`${table}.${column}`] ?? `${column} = ${value(column)}`;
  const chosen = await test.query<{ key: string }>`
    select ${sql.id(key)}::text as key from ${sql.id(table)} order by md5(${sql.id(key)}::text) offset ${number} limit 1
  `;
  const row = chosen[0]?.key ?? '';
  await freely(test.db, async (trx) => {
    const generated = (how: string) =>
      sql`alter table ${sql.id(table)} alter column id set generated ${sql.raw(how)}`;
    const isGenerated = column === 'id' && ['operator_log', 'gaps', 'archived_files'].includes(table);
    if (isGenerated) await generated('by default').execute(trx);
    await sql`update ${sql.id(table)} set ${sql.raw(change)} where ${sql.id(key)}::text = ${row}`.execute(
      trx,
    );
    if (isGenerated) await generated('always').execute(trx);
  });
  return row;
}

describe('the sealed form', () => {
  it('has the columns of version 1 of a delivery that was sealed by version 1', async () => {
    const hash = sql`encode(sha256(convert_to(json_build_array(delivery_id, source, message_type, sent_type, received_at,
      origin, secret_form, body_bytes, record_count, expected_count, event_count, duplicate_count, quarantined_count,
      refused_count)::text, 'UTF8')), 'hex')`;
    const { compared, different } = await readingSealed(test.service, async (trx) => {
      const { rows: tiles } = await sql<{ record: string }>`
        select json_build_array('deliveries', 1, 1, json_agg(delivery_id), json_agg(received_at), json_agg(${hash}))::text
          as record from deliveries`.execute(trx);
      return compareDeliveries(
        trx,
        tiles.map(({ record }) => record),
        {},
      );
    });
    expect({ compared, different }).toEqual({ compared: (FAMILIES.length + 1) * ROWS, different: [] });
  });

  it('has every column of every sealed table: verify names each row of which one was changed', async () => {
    const { findings: before } = await log.verify();
    expect(before).toEqual([]);
    const forged: { readonly name: string; readonly key: string }[] = [];
    const places = new Map<string, number>();
    for (const column of columns) {
      const number = places.get(column.table) ?? 0;
      places.set(column.table, number + 1);
      forged.push({ name: `${column.table}.${column.column}`, key: await forge(column, number) });
    }
    const { findings } = await log.verify();
    const named = new Set(findings.flatMap((one) => [one.eventId, one.deliveryId, one.key, one.source]));
    expect(forged.filter(({ key }) => !named.has(key)).map(({ name }) => name)).toEqual([]);
    expect(forged.length).toBeGreaterThan(200);
  });
});
