import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { query } from '../support/query.ts';
import { createRoles } from '../../src/store/server/roles/create-roles.ts';
import { createPostgresPart } from '../faults/postgres-part.ts';
import { createRedisPart, type RedisPart } from '../faults/redis-part.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from '../support/roles.ts';

/** How long what lasts, in milliseconds, and how much is sent. */
export interface Pace {
  /** The load runs so long before an operation and after it. */
  readonly before: number;
  readonly after: number;
  /** A state that only lasts: a noisy neighbour, a pooler, a replica that lags. */
  readonly lasting: number;
  /** Deliveries a second. */
  readonly rate: number;
  readonly scenariosAtATime: number;
}

/** What the figures of a release are measured with. */
export const LONG: Pace = {
  before: 10_000,
  after: 15_000,
  lasting: 30_000,
  rate: 300,
  scenariosAtATime: 1,
};

/** What each change has to pass. */
export const SHORT: Pace = { before: 1_000, after: 1_500, lasting: 4_000, rate: 100, scenariosAtATime: 2 };

/** What a scenario is built on. */
export interface Ground {
  /** A directory of its own. */
  readonly directory: string;
  readonly pace: Pace;
  /** Everything that the scenario starts is closed with it. */
  readonly stack: AsyncDisposableStack;
  /** Waits so many milliseconds, unless the suite is stopped. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Creates a database on the server that all share. Gives the connection string of the service's role. */
  readonly createDatabase: () => Promise<string>;
}

/** A server for the databases of all scenarios that do nothing to Postgres itself. */
export async function startSharedServer(
  directory: string,
  stack: AsyncDisposableStack,
): Promise<Ground['createDatabase']> {
  const server = await createPostgresPart(path.join(directory, 'shared'), 300);
  stack.defer(() => server.stop());
  await server.start();
  let last: Promise<unknown> = Promise.resolve();
  const create = async () => {
    const url = new URL(server.url());
    url.pathname = `/operations_${randomBytes(6).toString('hex')}`;
    await query(server.url(), `create database ${url.pathname.slice(1)}`);
    return createService(url.href);
  };
  // Two at once would create the same role.
  return () => {
    const created = last.then(create);
    last = created.catch(() => undefined);
    return created;
  };
}

/** Creates the roles, as `migrate` does with BOOTSTRAP_DATABASE_URL. Gives the connection string of the service's role. */
export async function createService(adminUrl: string): Promise<string> {
  const databaseUrl = withRole(adminUrl, SERVICE_ROLE);
  await createRoles(adminUrl, { databaseUrl, readerUrl: withRole(adminUrl, READER_ROLE) });
  return databaseUrl;
}

/** Starts a Redis that ends with the scenario. */
export async function startRedisFor({ directory, stack }: Ground): Promise<RedisPart> {
  const redis = await createRedisPart(path.join(directory, 'redis'));
  await redis.start();
  stack.defer(() => redis.stop());
  return redis;
}
