import { describe, expect, it } from 'vitest';
import { problemOfDatabaseUrl } from '../../src/config/setting-types.ts';

describe('the URL of a database', () => {
  it.each([
    'postgresql://user:p%40ss%2Fw%23rd@db.example:5432/xiq_sink',
    'postgres://user@db.example/xiq_sink?sslmode=require&application_name=x',
    'postgresql:///xiq_sink?host=/var/run/postgresql',
    'postgresql://user:p%25@[::1]:5432/x',
    'postgresql://user:p:a:s:s@db/x',
    `postgresql://user@db/x?sslmode=verify-ca&sslrootcert=${import.meta.filename}`,
    'postgresql://user@db/x?sslrootcert=system',
  ])('is accepted: %s', (url) => {
    expect(problemOfDatabaseUrl(url)).toBeUndefined();
  });

  it.each(['p@ss/w#rd', 'hunter/2@', 'hunter#2', 'hunter?2', '100%hunter', 'hunter 2', 'h[unter/2'])(
    'with the unencoded password %s is refused in words that do not contain it',
    (password) => {
      const problem = problemOfDatabaseUrl(`postgresql://user:${password}@db.example:5432/x`);
      expect(problem).toMatch(/percent-encode special characters in user name and password.*@ as %40/);
      for (const part of password.split(/[@/#?%[ ]/).filter((text) => text.length > 2)) {
        expect(problem).not.toContain(part);
      }
      const encoded = `postgresql://user:${encodeURIComponent(password)}@db.example:5432/x`;
      expect(problemOfDatabaseUrl(encoded)).toBeUndefined();
    },
  );

  it.each([
    ['sslmode=verify', 'has an unknown sslmode: use one of disable, allow, prefer, require'],
    ['sslmode=verify-ca', 'needs sslrootcert for sslmode=verify-ca'],
    ['sslmode=verify-full&sslrootcert=/nowhere.pem', "in sslrootcert that can't be read: /nowhere.pem"],
    ['sslcert=/x.pem', 'needs both sslcert and sslkey'],
  ])('with %s says what is wrong', (query, problem) => {
    expect(problemOfDatabaseUrl(`postgresql://user@db/x?${query}`)).toContain(problem);
  });
});
