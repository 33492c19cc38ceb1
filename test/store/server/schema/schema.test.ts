import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { FAMILY_OF, MESSAGE_TYPES } from '../../../../src/events/domain.ts';
import { FIELDS, tableOf } from '../../../../src/events/message-types.ts';
import { planOf } from '../../../support/plan.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase();

const VIEWS = {
  AUDIT_LOG_ALL: 'audit_log',
  LOCATION_AP_CENTRIC: 'location_ap_centric',
  LOCATION_CLIENT_CENTRIC: 'location_client_centric',
  GDPR_LOG_ALL: 'gdpr_log',
  CREDENTIAL_LOG_ALL: 'credential_log',
  ACCOUNTING_LOG_ALL: 'accounting_log',
  AUTHENTICATION_LOG_ALL: 'authentication_log',
  EMAIL_LOG_ALL: 'email_log',
  SMS_LOG_ALL: 'sms_log',
  ALERT: 'alert_log',
  OTHER: 'other_log',
} as const;

async function columnsOf(relation: string): Promise<Record<string, string>> {
  const rows = await test.query<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${relation}::regclass and attnum > 0 and not attisdropped`;
  return Object.fromEntries(
    rows.map(({ name, type }) => [name, type.replace('timestamp with time zone', 'timestamptz')]),
  );
}

describe('the tables', () => {
  it.each(MESSAGE_TYPES)(
    'have a column of the right type for each field of %s, and its view shows them',
    async (type) => {
      const fields = Object.fromEntries(
        FIELDS[type].map(({ column, kind }) => [column, kind.replace('key', 'text')]),
      );
      expect(await columnsOf(tableOf(type))).toMatchObject(fields);
      const view = await columnsOf(VIEWS[type]);
      expect(view).toMatchObject(fields);
      expect(view).toMatchObject({
        event_id: 'uuid',
        delivery_id: 'uuid',
        occurred_at: 'timestamptz',
        received_at: 'timestamptz',
        payload: 'jsonb',
      });
    },
  );

  it('share one sequence of ids', async () => {
    const rows = await test.query<{ default: string }>`
      select distinct pg_get_expr(adbin, adrelid) as default from pg_attrdef join pg_attribute
        on adrelid = attrelid and adnum = attnum where attname = 'id' and adrelid::regclass::text = any(${[
          ...new Set(MESSAGE_TYPES.map(tableOf)),
        ]})`;
    expect(rows).toEqual([{ default: "nextval('events_id_seq'::regclass)" }]);
    expect(new Set(Object.values(FAMILY_OF)).size).toBe(5);
  });

  it('have the comments of their migrations, as have columns, views and functions', async () => {
    const rows = await test.query`select obj_description('accounts'::regclass) as table,
      col_description('accounts'::regclass, 4) as column, col_description('accounts'::regclass, 1) as none,
      col_description('subscriptions'::regclass, 2) as quoted, obj_description('guard_table'::regproc) as function`;
    expect(rows).toEqual([
      {
        table: 'People who may use the console and the API',
        column: 'scrypt; null: no login with a password',
        none: null,
        quoted: "The cloud's id; null while the cloud has not told it",
        function: 'Takes from a table what could change its rows; for each new partition',
      },
    ]);
  });

  it('come with the rights of the service in the same transaction, so that no reader is refused', async () => {
    // Making the table and granting on it both write its row of the catalog.
    const rows = await test.query`
      select has_table_privilege('sources', 'select') as readable, catalog.xmin = applied.xmin as at_once
      from pg_class catalog, kysely_migration applied
      where catalog.oid = 'sources'::regclass and applied.name = '0007_cloud'`;
    expect(rows).toEqual([{ readable: true, at_once: true }]);
  });

  it.each([
    ['device', `select * from audit_events where device_ids @> array[1::bigint]`],
    ['host', `select * from audit_events where host_names @> array['x']`],
    ['device in logs', `select * from log_entries where device_serial_number = 'x'`],
    ['source of alerts', `select * from alerts_received where alert_source_name = 'x'`],
    ['source id of alerts', `select * from alerts_received where alert_source_id = 'x'`],
  ])('answer the question by %s from an index', async (_question, statement) => {
    const plan = await planOf(test.db, sql.raw(statement), 'off');
    expect(plan).not.toMatch(/Seq Scan/);
    expect(plan).toMatch(/Index/);
  });
});
