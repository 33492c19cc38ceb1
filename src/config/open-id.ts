import type { Environment } from './environment.ts';

/** Log-in to the console at an identity provider, by OpenID Connect. */
export interface OpenIdConfig {
  /** As the provider writes it in its tokens, where a slash at the end counts. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** Separated by spaces. */
  readonly scopes: string;
  /** The claim that lists the groups of a person. */
  readonly roleClaim: string;
  readonly roles: NonNullable<Environment['OIDC_ROLES']>;
  /** The sources that each group may see; `*` for all. Undefined: everyone may see all. */
  readonly sources: Environment['OIDC_SOURCES'];
  /** The origin of the console in browsers, without a trailing slash. */
  readonly consoleUrl: string;
}

/** The settings that have no effect without OIDC_ISSUER. */
const NEEDS_ISSUER = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'OIDC_SOURCES'] as const;

/** The settings of OpenID Connect; undefined without OIDC_ISSUER. `problems` gains a line if one is missing. */
export function readOpenId(settings: Environment, problems: string[]): OpenIdConfig | undefined {
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
    issuer,
    clientId,
    clientSecret: settings.OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
    roleClaim: settings.OIDC_ROLE_CLAIM,
    roles,
    sources: settings.OIDC_SOURCES,
    consoleUrl,
  };
}

/** The settings of OpenID Connect in one line, without the secret. */
export function describeOpenId({
  issuer,
  clientId,
  clientSecret,
  roleClaim,
  roles,
  sources,
}: OpenIdConfig): string {
  const client = `client ${clientId} ${clientSecret === undefined ? 'without' : 'with'} secret`;
  const rolesText = roles.map(({ group, value }) => `${group}=${value}`).join(', ');
  const sourcesText = sources?.map(({ group, value }) => `${group}=${value}`).join(', ') ?? 'all';
  return `${issuer}, ${client}, claim ${roleClaim}, roles: ${rolesText}, sources: ${sourcesText}`;
}
