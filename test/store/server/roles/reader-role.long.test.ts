import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/lib/errors.ts';
import { withClient } from '../../../../src/store/server/postgres.ts';
import { openDatabase } from '../../../../src/store/server/database.ts';
import { migrateStore } from '../../../../src/store/server/schema/migrate.ts';
import {
  hasDebianPostgres,
  startDebianPostgres,
  type DebianPostgres,
} from '../../../support/debian-postgres.ts';

describe.skipIf(!hasDebianPostgres)('an owner who may not create roles (needs postgresql)', () => {
  let server: DebianPostgres;
  beforeAll(async () => {
    server = await startDebianPostgres();
  });
  afterAll(() => server.stop());

  const asAdmin = (statement: string) => withClient(server.url, (client) => client.query(statement));

  it('gets the statement that creates the reading role, and migrates after it was run', async () => {
    await asAdmin(`create role "Plain-Owner" login password 'p'`);
    await asAdmin('create database xiq owner "Plain-Owner"');
    const url = new URL(server.url);
    url.pathname = '/xiq';
    url.username = 'Plain-Owner';
    url.password = 'p';
    await using db = openDatabase(url.href, () => undefined);
    const error = await migrateStore(db).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    const [text = '', command = ''] = error instanceof Error ? error.message.split('\n') : [];
    expect(text).toContain('The role xiq_reader does not exist, and Plain-Owner may not create roles');
    expect(command).toBe('  create role xiq_reader nologin; grant xiq_reader to "Plain-Owner";');
    await asAdmin(command);
    expect(await migrateStore(db)).not.toEqual([]);
  });
});
