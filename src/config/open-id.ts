import type { Environment } from './environment.ts';

/** Log-in to the console at an identity provider, by OpenID Connect. */
export type OpenIdConfig = NonNullable<ReturnType<typeof readOpenId>>;

/** The settings that have no effect without OIDC_ISSUER. */
const NEEDS_ISSUER = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'OIDC_SOURCES'] as const;

/** The settings of OpenID Connect; undefined without OIDC_ISSUER. `problems` gains a line if one is missing. */
export function readOpenId(settings: Environment, problems: string[]) {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_ROLES: roles,
    CONSOLE_URL: consoleUrl,
  } = settings;
  if (issuer === undefined) {
    const useless = NEEDS_ISSUER.filter((name) => settings[name] !== undefined);
    if (useless.length > 0) problems.push(`${useless.join(', ')}: set OIDC_ISSUER, too, or remove them`);
    return undefined;
  }
  if (clientId === undefined || roles === undefined || consoleUrl === undefined) {
    const needed = { OIDC_CLIENT_ID: clientId, OIDC_ROLES: roles, CONSOLE_URL: consoleUrl };
    const missing = Object.entries(needed).filter(([, value]) => value === undefined);
    problems.push(`OIDC_ISSUER needs ${missing.map(([name]) => name).join(', ')}`);
    return undefined;
  }
  return {
    /** As the provider writes it in its tokens, where a slash at the end counts. */
    issuer,
    clientId,
    /** Undefined for a public client. */
    clientSecret: settings.OIDC_CLIENT_SECRET,
    /** Separated by spaces. */
    scopes: settings.OIDC_SCOPES,
    /** The claim that lists the groups of a person. */
    roleClaim: settings.OIDC_ROLE_CLAIM,
    roles,
    /** The sources that each group may see; `*` for all. Undefined: everyone may see all. */
    sources: settings.OIDC_SOURCES,
    /** The origin of the console in browsers, without a trailing slash. */
    consoleUrl,
  };
}

/** The settings of OpenID Connect in one line, without the secret. */
export function describeOpenId({ issuer, clientId, clientSecret, ...openId }: OpenIdConfig): string {
  const list = (pairs: readonly { readonly group: string; readonly value: string }[]) =>
    pairs.map(({ group, value }) => `${group}=${value}`).join(', ');
  const client = `client ${clientId} ${clientSecret === undefined ? 'without' : 'with'} secret`;
  const sources = openId.sources === undefined ? 'all' : list(openId.sources);
  return `${issuer}, ${client}, claim ${openId.roleClaim}, roles: ${list(openId.roles)}, sources: ${sources}`;
}
