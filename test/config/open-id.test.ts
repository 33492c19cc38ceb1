import { describe, expect, it } from 'vitest';
import { loadConfig, maskConfig } from '../../src/config/config.ts';
import { problemsOf } from './problems-of.ts';

const SECRET = 'hunter2-of-the-client';

const ENOUGH = {
  OIDC_ISSUER: 'https://login.example/realms/it/',
  OIDC_CLIENT_ID: 'xiq-sink',
  OIDC_CLIENT_SECRET: SECRET,
  OIDC_ROLES: 'netops=operator, cn=auditors=auditor,admins = admin',
  CONSOLE_URL: 'https://xiq-sink.example/',
};

const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(ENOUGH).filter(([name]) => !names.includes(name)));

describe('OpenID Connect', () => {
  it('has defaults for scopes, claim and sources; a group may contain =, an issuer keeps its slash', () => {
    expect(loadConfig(ENOUGH).openId).toEqual({
      issuer: 'https://login.example/realms/it/',
      clientId: 'xiq-sink',
      clientSecret: SECRET,
      scopes: 'openid profile email',
      roleClaim: 'groups',
      roles: [
        { group: 'netops', value: 'operator' },
        { group: 'cn=auditors', value: 'auditor' },
        { group: 'admins', value: 'admin' },
      ],
      sources: undefined,
      consoleUrl: 'https://xiq-sink.example',
    });
  });

  it('may have other scopes, another claim, sources for groups, and no secret', () => {
    const others = { OIDC_SCOPES: 'openid roles', OIDC_ROLE_CLAIM: 'realm_access.roles' };
    const sources = { OIDC_SOURCES: 'netops=*,team-a=customer-a,team-a=customer-b' };
    expect(loadConfig({ ...without('OIDC_CLIENT_SECRET'), ...others, ...sources }).openId).toMatchObject({
      clientSecret: undefined,
      scopes: 'openid roles',
      roleClaim: 'realm_access.roles',
      sources: [
        { group: 'netops', value: '*' },
        { group: 'team-a', value: 'customer-a' },
        { group: 'team-a', value: 'customer-b' },
      ],
    });
  });

  it.each(['http://localhost:9000', 'http://127.0.0.1:9000/realms/it'])(
    'may be at %s, because nobody reads what stays on this machine',
    (address) => {
      const env = { ...ENOUGH, OIDC_ISSUER: address, CONSOLE_URL: 'http://localhost:8081' };
      expect(loadConfig(env).openId).toMatchObject({ issuer: address, consoleUrl: 'http://localhost:8081' });
    },
  );

  it('names everything that is missing, at once', () => {
    expect(problemsOf(without('OIDC_CLIENT_ID', 'OIDC_ROLES', 'CONSOLE_URL'))).toEqual([
      'OIDC_ISSUER needs OIDC_CLIENT_ID, OIDC_ROLES, CONSOLE_URL',
    ]);
    expect(problemsOf(without('CONSOLE_URL'))).toEqual(['OIDC_ISSUER needs CONSOLE_URL']);
    expect(problemsOf({ ...without('CONSOLE_URL'), PORT: 'abc' })).toEqual([
      expect.stringContaining('PORT must be'),
      'OIDC_ISSUER needs CONSOLE_URL',
    ]);
    expect(problemsOf(without('OIDC_ISSUER'))).toEqual([
      'OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLES: also set OIDC_ISSUER, or remove them',
    ]);
  });

  it.each([
    ['OIDC_ISSUER', 'http://login.example'],
    ['OIDC_ISSUER', 'login.example'],
    ['OIDC_ISSUER', 'https://login.example/?realm=it'],
    ['OIDC_ISSUER', 'ftp://login.example'],
    ['CONSOLE_URL', 'http://xiq-sink.example'],
    ['CONSOLE_URL', 'https://xiq-sink.example/console'],
    ['CONSOLE_URL', 'xiq-sink.example'],
    ['OIDC_ROLES', 'netops'],
    ['OIDC_ROLES', 'netops=root'],
    ['OIDC_ROLES', '=admin'],
    ['OIDC_ROLES', 'netops=operator,'],
    ['OIDC_SOURCES', 'team-a'],
    ['OIDC_SOURCES', 'team-a=Customer A'],
    ['OIDC_SCOPES', 'profile email'],
    ['OIDC_SCOPES', 'openid,profile'],
  ])('does not start with %s=%s, and shows the value', (name, value) => {
    const problems = problemsOf({ ...ENOUGH, [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} must `));
    expect(problems[0]).toContain(`(got "${value.replace(/\?.*/, '?…')}")`);
  });

  it('is shown without the secret', () => {
    const masked = maskConfig(loadConfig({ ...ENOUGH, OIDC_SOURCES: 'netops=*' }));
    expect(masked).toMatchObject({
      openIdConnect:
        'https://login.example/realms/it/, client xiq-sink with secret, claim groups, roles: netops=operator, cn=auditors=auditor, admins=admin, sources: netops=*',
      consoleUrl: 'https://xiq-sink.example',
    });
    expect(JSON.stringify(masked)).not.toContain(SECRET);
    expect(problemsOf({ ...ENOUGH, OIDC_ISSUER: 'nowhere' }).join()).not.toContain(SECRET);
  });
});
