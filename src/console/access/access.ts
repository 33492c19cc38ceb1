import pTimeout from 'p-timeout';
import { hash, timingSafeEqual } from 'node:crypto';
import { parseCookie } from 'cookie';
import { HttpError } from '../../lib/errors.ts';
import { ROLE_PERMISSIONS, type AccountRole, type Permission } from '../../store/access/permissions.ts';
import { findTokenHolder } from '../../store/access/access-tokens.ts';
import { hasAccounts } from '../../store/access/accounts.ts';
import type { Db } from '../../store/server/database.ts';
import type { Operator } from '../../store/access/operator-log.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../../store/server/scope.ts';
import { findSession, isAdminSession, type Holder } from '../../store/access/sessions.ts';
import type { SchemaGate } from '../schema-gate.ts';
import { adminDigestOf, digestOf, isApiToken, isSessionValue } from '../../access/credentials.ts';
import { refuseOtherNames, refuseOtherSites, refuseProxies, type AskedRequest } from '../../access/origin.ts';

export interface Visitor {
  readonly operator: Operator;
  readonly role: AccountRole;
  readonly permissions: ReadonlySet<Permission>;
  /** The sources that the visitor may see. */
  readonly sources: Scope;
  /** The source that the request names, if it is about one alone. */
  readonly source?: string;
  /** The sources whose data the request is about: all that may be seen, or this one. */
  readonly scope: Scope;
  /** The digest of the session in the database. Undefined for tokens, and if no login is required. */
  readonly session: Buffer | undefined;
}

export type Access = ReturnType<typeof createAccess>;

/** Where accounts are, and whether their tables are ready. */
export interface AccountsAt {
  /** Whether people log in by OpenID Connect, so that login is required before there is an account. */
  readonly hasOpenId: boolean;
  readonly db: Db;
  readonly checkSchema: SchemaGate;
}

/** The browser withholds it from other sites and from scripts. */
export const SESSION_COOKIE = 'xiq_sink_session';

/** The name in the operator log of everyone who has the admin token. */
export const ADMIN_TOKEN_NAME = 'admin token';

/** Of the metrics: no events, only counts. */
export const METRICS_PATH = '/metrics';

/** Time for the database to say who a visitor is. */
const PATIENCE_MS = 3_000;

/**
 * `Authorization: Bearer` for programs: the admin token, or the API token of an account. A session cookie for people.
 * Without an admin token and OpenID Connect, and as long as there are no accounts: everyone on this machine, if the Host header names it,
 * because another site could let its own name resolve to this machine. Without `at`, there are no accounts.
 */
export function createAccess(adminToken: string | undefined, at: AccountsAt | undefined) {
  const digest = adminToken === undefined ? undefined : sha256(adminToken);
  const isAdminToken = (offered: string) => digest !== undefined && timingSafeEqual(sha256(offered), digest);
  let accountsExist = false;
  const isOpen = async (request: AskedRequest) =>
    adminToken === undefined && at?.hasOpenId !== true && !(await requiresLogIn(request));

  /** Accounts are never deleted, so this is true for ever once it is. */
  async function checkAccounts(): Promise<boolean> {
    if (!accountsExist && at !== undefined) accountsExist = await orUnavailable(hasAccounts(at.db));
    return accountsExist;
  }

  /** Metrics are needed most while the database is away: then they require a login only if accounts are known. */
  async function requiresLogIn({ path }: AskedRequest): Promise<boolean> {
    try {
      return await checkAccounts();
    } catch (error) {
      if (path === METRICS_PATH) return accountsExist;
      throw error;
    }
  }

  async function ofToken(token: string): Promise<Visitor | undefined> {
    if (isAdminToken(token)) return accountVisitor(ADMIN, 'api');
    if (at === undefined || !isApiToken(token)) return undefined;
    await at.checkSchema();
    const holder = await orUnavailable(findTokenHolder(at.db, digestOf(token)));
    return holder && accountVisitor(holder, 'api');
  }

  async function ofCookie(value: string): Promise<Visitor | undefined> {
    if (at === undefined || !isSessionValue(value)) return undefined;
    await at.checkSchema();
    const session = digestOf(value);
    const holder = await orUnavailable(findSession(at.db, session));
    if (holder !== undefined) return accountVisitor(holder, 'console', session);
    if (adminToken === undefined) return undefined;
    const adminSession = adminDigestOf(value, adminToken);
    const isAdmin = await orUnavailable(isAdminSession(at.db, adminSession));
    return isAdmin ? accountVisitor(ADMIN, 'console', adminSession) : undefined;
  }

  return {
    isAdminToken,
    /** Whether there are accounts. Throws HttpError 503 if the database does not answer. */
    hasAccounts: checkAccounts,
    /**
     * The sender of a request; undefined if login is required. Throws HttpError 403 for requests from other sites, and
     * 503 if the database is needed for the answer and does not answer.
     */
    async visitorOf(request: AskedRequest): Promise<Visitor | undefined> {
      const { authorization, cookie } = request.headers;
      if (await isOpen(request)) return visitorHere(request);
      const bearer = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
      if (bearer !== undefined) return ofToken(bearer);
      refuseOtherSites(request);
      return ofCookie(parseCookie(cookie ?? '')[SESSION_COOKIE] ?? '');
    },
  };
}

/** Throws HttpError 503 if the answer takes too long or fails: nobody is let in, and nobody is logged out. */
async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await pTimeout(answer, { milliseconds: PATIENCE_MS });
  } catch (cause) {
    const message = 'the database is unavailable, so your access cannot be checked';
    throw new HttpError(503, 'UNAVAILABLE', message, { cause, retryAfter: 5 });
  }
}

/** Who has the admin token. */
const ADMIN: Holder = { name: ADMIN_TOKEN_NAME, role: 'admin', sources: null };

function accountVisitor(holder: Holder, via: Operator['via'], session?: Buffer): Visitor {
  const { name, role, sources } = holder;
  const permissions = ROLE_PERMISSIONS[role];
  const scope = sources ?? ALL_SOURCES;
  return { operator: { name, via }, role, permissions, sources: scope, scope, session };
}

/** A visitor, narrowed to one source; one that they may not see is like one that does not exist. */
export const askingAbout = <V extends Pick<Visitor, 'sources' | 'source' | 'scope'>>(
  visitor: V,
  source: string | undefined,
): V => {
  if (source === undefined) return visitor;
  return { ...visitor, source, scope: isInScope(visitor.sources, source) ? [source] : [] };
};

function visitorHere(request: AskedRequest): Visitor {
  refuseOtherSites(request);
  refuseOtherNames(request);
  refuseProxies(request);
  const via = request.headers['sec-fetch-site'] === undefined ? 'api' : 'console';
  return accountVisitor({ ...ADMIN, name: 'local user' }, via);
}

const sha256 = (text: string) => hash('sha256', text, 'buffer');

export interface Rule {
  readonly needs: Permission;
  /**
   * The data that it shows or changes. `by source`: only that of the sources in the visitor's scope. `whole`: it
   * concerns all sources together, so that only visitors who may see all sources have access.
   */
  readonly data: 'by source' | 'whole';
}

export const VIEW = { needs: 'view', data: 'by source' } as const satisfies Rule;

export const VIEW_WHOLE = { needs: 'view', data: 'whole' } as const satisfies Rule;

export const EXPORT = { needs: 'events.export', data: 'by source' } as const satisfies Rule;
export const READ_OPERATOR_LOG = { needs: 'operator-log.read', data: 'whole' } as const satisfies Rule;
export const CHANGE_DESTINATIONS = { needs: 'destinations.change', data: 'whole' } as const satisfies Rule;
export const CHANGE_OUTPUTS = { needs: 'outputs.change', data: 'whole' } as const satisfies Rule;
export const CHANGE_QUARANTINE = { needs: 'quarantine.change', data: 'by source' } as const satisfies Rule;
export const VERIFY = { needs: 'integrity.verify', data: 'whole' } as const satisfies Rule;
export const CHANGE_ACCESS = { needs: 'access.change', data: 'whole' } as const satisfies Rule;
export const CHANGE_SOURCES = { needs: 'sources.change', data: 'whole' } as const satisfies Rule;

export const hasAccess = (
  { permissions, sources }: Pick<Visitor, 'permissions' | 'sources'>,
  { needs, data }: Rule,
): boolean => permissions.has(needs) && (data === 'by source' || sources === ALL_SOURCES);
