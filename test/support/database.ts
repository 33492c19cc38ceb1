import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import type { Db } from '../../src/store/database.ts';

/** A database of one test file's own, cloned from the migrated template in milliseconds. */
export interface TestDatabase {
  readonly databaseUrl: string;
  readonly db: Db;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `xiq_sink_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(`create database ${name} template ${inject('templateName')}`);
  const url = new URL(inject('adminUrl'));
  url.pathname = `/${name}`;
  const db = openDatabase(url.href, () => undefined);
  return {
    databaseUrl: url.href,
    db,
    async drop() {
      await db.destroy();
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
}

async function asAdmin(statement: string): Promise<void> {
  const client = new Client({ connectionString: inject('adminUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
