import { expect, it } from 'vitest';
import { createRoles } from '../../../../src/store/server/roles/create-roles.ts';
import { withRole } from '../../../support/roles.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase();

interface Urls {
  readonly adminUrl?: string;
  readonly databaseUrl?: string;
  readonly readerUrl?: string;
  readonly migrationUrl?: string;
}

it.each<[string, () => Urls, RegExp]>([
  [
    'no superuser',
    () => ({ adminUrl: test.databaseUrl }),
    /^BOOTSTRAP_DATABASE_URL must name a superuser of /,
  ],
  ['the first superuser as the service', () => ({ databaseUrl: test.adminUrl }), /Rename it first/],
  [
    'the owner as the service',
    () => ({ databaseUrl: withRole(test.databaseUrl, 'xiq_owner') }),
    /used only by the service.*got xiq_owner/,
  ],
  [
    'another reader',
    () => ({ readerUrl: withRole(test.readerUrl, 'ada') }),
    /^READER_DATABASE_URL must name the role xiq_reader \(got ada\)$/,
  ],
  [
    'the service for migrations',
    () => ({ migrationUrl: test.databaseUrl }),
    /^MIGRATION_DATABASE_URL must name a different role than DATABASE_URL/,
  ],
])('roles are not made with %s', async (_with, urlsOf, message) => {
  const { databaseUrl, readerUrl } = test;
  const { adminUrl, ...urls } = { adminUrl: test.adminUrl, databaseUrl, readerUrl, ...urlsOf() };
  const before = await test.query`select * from pg_auth_members order by 1, 2`;
  await expect(createRoles(adminUrl, urls)).rejects.toThrow(message);
  expect(await test.query`select * from pg_auth_members order by 1, 2`).toEqual(before);
});
